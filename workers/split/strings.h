/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct texts of a trace under small numbers: names, ids, shapes. Equal numbers are
 * equal texts. Text 0 is the empty one.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

struct strings;

/* `max` in bytes of texts and their book-keeping. NULL: out of memory. */
struct strings *strings_new(uint64_t max);
void strings_free(struct strings *strings);
/*
 * The number of `text`, new or known. False: no room under the ceiling
 * (strings_is_full), or no memory.
 */
bool strings_add(struct strings *strings, struct slice text, uint32_t *ret_number);
bool strings_is_full(const struct strings *strings);
/* How many texts; bytes they take. */
uint32_t strings_count(const struct strings *strings);
uint64_t strings_bytes(const struct strings *strings);
/* Borrowed, valid as long as `strings`. */
struct slice strings_text(const struct strings *strings, uint32_t number);
