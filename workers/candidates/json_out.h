/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a JSON object, one call each. */
#pragma once

#include "amount.h"
#include "buf.h"
#include "json.h"

#include <stdint.h>

/* `"name": `, with a comma before all but the first member of an object. */
void json_out_name(struct buf *out, const char *name);
/* A number: shortest digits; NaN and the infinities as strings. */
void json_out_number(struct buf *out, double number);
/* Null for an unknown amount or a null text. */
void json_out_amount(struct buf *out, const char *name, struct amount amount);
void json_out_text(struct buf *out, const char *name, struct slice text);
void json_out_bool(struct buf *out, const char *name, bool flag);
void json_out_count(struct buf *out, const char *name, int64_t count);
/* Nanoseconds as microseconds with three decimals. */
void json_out_us(struct buf *out, const char *name, int64_t ns);
/* A value as it came: members in their order, numbers in their text. The caller has held
 * its depth against a limit. */
void json_out_value(struct buf *out, struct json_value value);
/* An array of texts. */
void
json_out_texts(struct buf *out, const char *name, const struct slice *texts, size_t n);
