/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes from the environment. */
#include "test_size.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int
test_size(const char *variable, int usual)
{
    const char *text = getenv(variable);
    char *end = NULL;
    if (!text)
        return usual;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < 1 || n > INT_MAX) {
        fprintf(stderr, "%s: \"%s\" is no number of at least 1\n", variable, text);
        exit(EXIT_FAILURE);
    }
    return (int)n;
}
