/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number that may be unknown, and the arithmetic that gate and table agree on
 * (gates.md 1.2, 3): unknown is never 0.
 */
#pragma once

#include "json.h"
#include "slice.h"

#include <math.h>
#include <stdbool.h>

struct amount {
    double value; /* may be negative or not finite, as it came */
    bool known;   /* false: absent; `value` is 0 */
};

#define AMOUNT_UNKNOWN  ((struct amount){0, false})
#define AMOUNT(number)  ((struct amount){(number), true})
#define AMOUNT_IF(n, x) ((n) ? AMOUNT(x) : AMOUNT_UNKNOWN)

/* Known, finite and not negative: else it counts as absent. */
static inline bool
amount_usable(struct amount amount)
{
    return amount.known && isfinite(amount.value) && amount.value >= 0;
}

/*
 * Microseconds as whole nanoseconds: rounded half up, a positive one at least 1. What is
 * negative or not finite keeps its sign and kind; one too large to count is unknown.
 */
struct amount amount_nanoseconds(struct amount microseconds);
/* `x` as printf("%.*f") would print it, read back; `digits` at most 6. Never -0. */
double amount_round(double x, int digits);
/* Of a JSON number, or of the strings "nan", "inf", "-inf"; else unknown. */
struct amount amount_of_json(struct json_value value);
/* A decimal text, blanks around it allowed, that is finite; else unknown. */
struct amount amount_of_text(struct slice text);
/* Without white space at its ends. */
struct slice amount_trim(struct slice text);
