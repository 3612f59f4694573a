/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Avro schema as a tree: read from the author's .avsc, vetted by the rules of the
 * Avro 1.11 specification, immutable afterwards. Its parsing canonical form and
 * fingerprints name it on the wire and in the registry.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stdint.h>

struct schema;

enum { SCHEMA_SHA256_BYTES = 32 };

/*
 * Reads `text` (JSON). Refuses what the specification forbids: bad names, repeated
 * names, fields, symbols or branches, nested unions, defaults of the wrong type, a
 * fixed of negative size; and what passes the ceilings of schema_tree.h. Attributes and
 * logical types that it doesn't know are ignored. NULL with ERR_RECORD "schema_invalid"
 * and the JSON path in the message, or ERR_FATAL "out_of_memory".
 *
 * Where the specification leaves room: the default of a union is a value of its first
 * branch (1.12 takes any); a record's default may leave out fields that have their own;
 * a bare name that the enclosing namespace lacks means the one without a namespace, as
 * in Avro's Java library; digits in quotes are a size, as rule [INTEGERS] of the
 * canonical form has it.
 */
struct schema *schema_parse(struct slice text, struct err *err);
void schema_free(struct schema *schema);

/* Full name of a named type, the type's name ("string", "array") of another. Borrowed. */
const char *schema_name(const struct schema *schema);
/* Parsing canonical form (specification, "Parsing Canonical Form for Schemas"). Borrowed.
 */
struct slice schema_canonical(const struct schema *schema);
/* CRC-64-AVRO of the canonical form, as single-object encoding writes it. */
uint64_t schema_crc64(const struct schema *schema);
/* SHA-256 of the canonical form. */
void schema_sha256(const struct schema *schema, uint8_t ret_digest[SCHEMA_SHA256_BYTES]);
/* The author's text as it was parsed, byte for byte (what a registry is given). Borrowed.
 */
struct slice schema_text(const struct schema *schema);
