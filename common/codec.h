/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to struct and back through a field table (field.h).
 *
 * A codec belongs to one record type and encodes by that type's own schema. To decode,
 * it needs a plan: what the writer's schema and ours say about each other, resolved by
 * name once ("Schema Resolution" of the Avro specification) and then run per record.
 *
 * Decoding trusts nothing: every length is held against the bytes that remain, and
 * depth, item counts and memory have ceilings, also for items that take no bytes.
 */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "field.h"
#include "schema.h"

struct codec;
struct codec_plan;

/* Ceilings of one decode; a zero takes the default beside it. */
struct codec_limits {
    size_t max_depth; /* nested records, arrays, maps: 64 */
    size_t max_items; /* of one array or map, and in all: 1,000,000 */
};

/*
 * Parses the type's schema and compiles its table. ERR_FATAL "schema_table" when table
 * and schema disagree, naming the field. `type` is borrowed for the codec's life.
 */
struct codec *codec_new(const struct record_type *type,
                        const struct codec_limits *limits,
                        struct err *err);
void codec_free(struct codec *codec);
/* Our own schema. Borrowed. */
const struct schema *codec_schema(const struct codec *codec);
const struct record_type *codec_type(const struct codec *codec);

/*
 * Appends the Avro body of `value` (a struct of the codec's type) to `out`. Map entries
 * are written in the order they have; sort them where bytes must not depend on it.
 * ERR_RECORD "body_invalid" when a value can't be written (an enum position, a union
 * tag, or text that is not UTF-8), "record_too_large" at the ceiling of `out`.
 */
enum err_kind codec_encode(const struct codec *codec,
                           const void *value,
                           struct buf *out,
                           struct err *err);

/*
 * How to read what `writer` wrote into our struct. ERR_RECORD "schema_incompatible"
 * naming the path when the two can't be resolved. `writer` need not outlive the call.
 */
struct codec_plan *
codec_plan_new(const struct codec *codec, const struct schema *writer, struct err *err);
void codec_plan_free(struct codec_plan *plan);

/*
 * Decodes one body into `ret_value` (a struct of the codec's type, overwritten whole).
 * Slices borrow from `body`, lists lie in `arena`; both must outlive the value.
 * ERR_RECORD "body_truncated" (a length or the end), "body_invalid" (a value out of
 * range or a ceiling), "body_trailing" (bytes left over); the message has the offset.
 */
enum err_kind codec_decode(const struct codec_plan *plan,
                           struct slice body,
                           struct arena *arena,
                           void *ret_value,
                           struct err *err);

/*
 * Appends `value` as one line of Avro's JSON encoding (no line feed): bytes and fixed
 * as ISO 8859-1 text, a union's value as {"type": value} unless null. Fields in the
 * table's order. Non-finite doubles become the strings "NaN", "Infinity", "-Infinity".
 */
enum err_kind codec_to_json(const struct codec *codec,
                            const void *value,
                            struct buf *out,
                            struct err *err);

/* Reads what codec_to_json writes; missing fields take their default. "body_invalid". */
enum err_kind codec_from_json(const struct codec *codec,
                              struct slice json,
                              struct arena *arena,
                              void *ret_value,
                              struct err *err);
