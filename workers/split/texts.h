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

struct texts;

/* `max` in bytes of texts and their book-keeping. NULL: out of memory. */
struct texts *texts_new(uint64_t max);
void texts_free(struct texts *texts);
/*
 * The number of `text`, new or known. False: no room under the ceiling
 * (texts_is_full), or no memory.
 */
bool texts_add(struct texts *texts, struct slice text, uint32_t *ret_number);
bool texts_is_full(const struct texts *texts);
/* How many texts; bytes they take. */
uint32_t texts_count(const struct texts *texts);
uint64_t texts_bytes(const struct texts *texts);
/* Borrowed, valid as long as `texts`. */
struct slice texts_text(const struct texts *texts, uint32_t number);
