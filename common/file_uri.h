/* SPDX-License-Identifier: Apache-2.0 */
/* file:// addresses of this host and the paths that they name. */
#pragma once

#include "slice.h"

#include <limits.h>
#include <stdbool.h>

/* Whether `uri` begins with `scheme`, which ends in "://", in any case. */
bool uri_has_scheme(struct slice uri, const char *scheme);
/*
 * The absolute path that a file:// address names, %XX undone; an empty host and localhost
 * are this one. False: another scheme or host, a bad escape, a zero byte, too long.
 */
bool file_uri_path(struct slice uri, char ret_path[PATH_MAX]);
