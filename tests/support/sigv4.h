/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second implementation of Amazon's signature version 4, from its description, to check
 * ours with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sigv4_request {
    const char *line;          /* "PUT /path" as it was on the wire, without a query */
    const char *authorization; /* of the request */
    /* The value of a header, "" when there is none. */
    const char *(*header)(void *state, const char *name);
    void *state;
};

/* Whether the signature is the one that `secret_key` makes; fails on a wrong form. */
bool sigv4_is_right(const struct sigv4_request *request, const char *secret_key);
