/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a setting: from its text into the caller's struct, and back. */
#pragma once

#include "arena.h"
#include "buf.h"
#include "options.h"

/*
 * Reads `text` as the type of `row` into `value`. ERR_RECORD "bad_value" with what is
 * wanted ("a size like 64MiB, at least 1KiB"); ERR_FATAL "out_of_memory". Texts go to
 * `arena`. A list gets the comma-separated items of `text`.
 */
enum err_kind option_value_set(const struct option *row,
                               void *value,
                               struct slice text,
                               struct arena *arena,
                               struct err *err);
/* Appends one item to a list. */
enum err_kind option_value_append(struct option_list *list,
                                  struct slice text,
                                  struct arena *arena,
                                  struct err *err);
/* As a person writes it: 64MiB, 24h, yes, text. Nothing for an unset text. */
void option_value_print(const struct option *row, const void *value, struct buf *out);
/* In one spelling: bytes, milliseconds, true; escaped so that it stays on its line. */
void option_value_canonical(const struct option *row, const void *value, struct buf *out);
