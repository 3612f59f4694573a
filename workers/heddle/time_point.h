/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as a person gives and reads them. Pure: the present is handed in. */
#pragma once

#include "err.h"

#include <stdint.h>

enum { TIME_TEXT_BYTES = 32 };

/*
 * Reads `text` as milliseconds since 1970: -2h (before `now_ms`; ms, s, m, h, d), a whole
 * number of seconds or (from 12 digits on) milliseconds, or ISO 8601 (2026-08-18,
 * 2026-08-18T06:30[:15[.250]], then Z or +02:00; UTC without). ERR_FATAL EXIT_USAGE
 * "bad_value", naming `flag`.
 */
enum err_kind time_point_read(
    const char *flag, const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err);
/* 2026-08-18T06:30:15Z, the milliseconds left out; "-" for what is before 1970. */
void time_point_print(int64_t ms, char ret_text[TIME_TEXT_BYTES]);
