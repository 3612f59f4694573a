/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate looks at, from JSON: a split record (splitting.md 11.5, microseconds) or
 * the gate's own input (gates.md 1.1). Fields that are absent or of another type are
 * unknown. Texts are borrowed from the document.
 */
#pragma once

#include "input.h"
#include "json.h"

#include "arena.h"

void input_json_chunk_numbers(struct json_value object,
                              struct chunk_numbers *ret_numbers);
void input_json_trace_numbers(struct json_value object,
                              struct trace_numbers *ret_numbers);
/* The gate's own input: status by name, chunks with their `numbers`. False: no memory. */
bool input_json_split(struct json_value object,
                      struct arena *arena,
                      struct gate_split *ret_split);
/* A split record. False: no memory. */
bool input_json_record(struct json_value record,
                       struct arena *arena,
                       struct gate_split *ret_split);
/* Fields that are absent keep what `request` holds. */
void input_json_request(struct json_value object, struct gate_request *request);
/* BOOL_UNKNOWN for anything but true and false. */
enum known_bool input_json_bool(struct json_value value);
