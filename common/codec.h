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

/* Ceilings of one value, either way; a zero takes the default beside it. */
struct codec_limits {
    size_t max_depth; /* lists within lists, records to skip too: 64, at most 1024 */
    size_t max_items; /* items of all lists, and records to skip: 1,000,000 */
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
 * tag, text that is not UTF-8, a null slice where the schema has no null), or
 * "record_too_large" at the ceiling of `out`. Nothing is appended on failure.
 */
enum err_kind codec_encode(const struct codec *codec,
                           const void *value,
                           struct buf *out,
                           struct err *err);

/*
 * How to read what `writer` wrote into our struct. ERR_RECORD "schema_incompatible"
 * naming the path when the two can't be resolved. `writer` need not outlive the call,
 * the codec must outlive the plan.
 *
 * Records, enums and fixed match by full name, by its last part, or by one of our
 * aliases; fields by name, then by our aliases; enum symbols by name, else our default.
 * Of our union the first branch of the best fit is taken: the same name or type before
 * a promotion. A writer's branch or symbol that has no place in our schema is refused
 * when a record has it.
 */
struct codec_plan *
codec_plan_new(const struct codec *codec, const struct schema *writer, struct err *err);
void codec_plan_free(struct codec_plan *plan);

/*
 * Decodes one body into `ret_value` (a struct of the codec's type, overwritten whole,
 * zeroed on failure). Slices borrow from `body`, lists lie in `arena`; both must outlive
 * the value. Slices of defaults borrow from the codec.
 * ERR_RECORD "body_truncated" (a length or the end), "body_invalid" (a value out of
 * range or a ceiling), "body_trailing" (bytes left over), "schema_incompatible" (a
 * branch or symbol that our schema has no place for); the message has the offset. Fields
 * that we lack are stepped over: their lengths and counts are checked, not their content.
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
 * Numbers have the fewest digits that read back as the same value.
 */
enum err_kind codec_to_json(const struct codec *codec,
                            const void *value,
                            struct buf *out,
                            struct err *err);

/*
 * Reads what codec_to_json writes; missing fields take their default, unknown ones are
 * refused. Everything the value points to lies in `arena`. ERR_RECORD "body_invalid".
 */
enum err_kind codec_from_json(const struct codec *codec,
                              struct slice json,
                              struct arena *arena,
                              void *ret_value,
                              struct err *err);
