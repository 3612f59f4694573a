/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of --set: KEY=JSON, the defaults of a result (events.md 3). */
#pragma once

#include "arena.h"
#include "err.h"
#include "options.h"
#include "tuning_event.h"

/*
 * The entries sorted by key, of a repeated key the last; in the arena, texts borrowed
 * from `set`. ERR_FATAL EXIT_USAGE "set_invalid", with the quotes that are missing when
 * a word stands where JSON belongs.
 */
enum err_kind set_defaults_parse(const struct option_list *set,
                                 struct arena *arena,
                                 struct default_entry **ret_entries,
                                 size_t *ret_n,
                                 struct err *err);
