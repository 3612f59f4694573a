/* SPDX-License-Identifier: Apache-2.0 */
/* One record as one JSON line, whatever it holds. Pure. */
#pragma once

#include "buf.h"
#include "err.h"
#include "record.h"
#include "slice.h"

/*
 * Appends {"topic", "partition", "offset", "timestamp", "key", "headers", "value"} and a
 * line feed. `value` is the decoded value's JSON; null: the bytes themselves. Bytes that
 * are UTF-8 are text; others are {"base64": "..."}, as a key, a header or a value may be.
 * A record without key or value has null there; of repeated headers the last one counts.
 * With `bad` not NULL the line ends with {"error": {"code", "message"}}: why the value
 * could not be decoded.
 */
void tap_line(const struct message *in,
              struct slice value,
              const struct err *bad,
              struct buf *out);
/* Appends bytes as JSON: null, text when they are UTF-8, else {"base64": "..."}. */
void tap_bytes(struct buf *out, struct slice bytes);
/* Appends the base64 text of the bytes. */
void tap_base64(struct buf *out, struct slice bytes);
