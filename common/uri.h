/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as they stand in claims, and what they name. */
#pragma once

#include "arena.h"
#include "slice.h"

#include <limits.h>
#include <stdbool.h>

/* Undoes %XX into `ret_text`, `cap` bytes, terminated. False: a bad escape, a zero byte,
 * no room, nothing. */
bool uri_decode(struct slice text, char *ret_text, size_t cap);
/*
 * Writes an http:// or https:// address as messages show it: without user, password,
 * query and fragment, in which secrets travel; cut to `cap` bytes, terminated.
 */
void uri_show(struct slice uri, char *ret_shown, size_t cap);
/* Whether `uri` begins with `scheme`, which ends in "://", in any case. */
bool uri_has_scheme(struct slice uri, const char *scheme);
/*
 * The absolute path that a file:// address names, %XX undone; an empty host and localhost
 * are this one. False: another scheme or host, a bad escape, a zero byte, too long.
 */
bool file_uri_path(struct slice uri, char ret_path[PATH_MAX]);
/* The file:// address of an absolute path, in the arena; a null slice without room. */
struct slice file_uri_make(struct slice path, struct arena *arena);
