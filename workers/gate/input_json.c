/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's input from JSON. */
#include "input_json.h"

static void
read_numbers(struct json_value object,
             const struct number_field *fields,
             size_t n,
             void *numbers)
{
    for (size_t i = 0; i < n; i++) {
        struct amount amount = amount_of_json(json_get(object, fields[i].name));
        *number_at(numbers, &fields[i]) =
            fields[i].duration ? amount_nanoseconds(amount) : amount;
    }
}

enum known_bool
input_json_bool(struct json_value value)
{
    if (json_kind(value) != JSON_BOOLEAN)
        return BOOL_UNKNOWN;
    return json_is_true(value) ? BOOL_TRUE : BOOL_FALSE;
}

void
input_json_chunk_numbers(struct json_value object, struct chunk_numbers *ret_numbers)
{
    read_numbers(object, chunk_number_fields, CHUNK_NUMBERS, ret_numbers);
}

void
input_json_trace_numbers(struct json_value object, struct trace_numbers *ret_numbers)
{
    *ret_numbers = (struct trace_numbers){0};
    read_numbers(object, trace_number_fields, TRACE_AMOUNTS, ret_numbers);
    ret_numbers->startup_transient_trimmed =
        input_json_bool(json_get(object, "startup_transient_trimmed"));
    ret_numbers->startup_transient_kernel =
        json_string(json_get(object, "startup_transient_kernel"));
}

static bool
is_object(struct json_value value)
{
    return json_kind(value) == JSON_OBJECT;
}

static void
read_chunk(struct json_value object, struct json_value numbers, struct gate_chunk *chunk)
{
    struct slice file = json_string(json_get(object, "file"));
    *chunk = (struct gate_chunk){
        .kind = json_string(json_get(object, "kind")),
        .file = file.data ? file : SLICE(""),
        .has_numbers = is_object(numbers),
    };
    if (chunk->has_numbers)
        input_json_chunk_numbers(numbers, &chunk->numbers);
}

/* `nested`: numbers lie under "numbers"; else beside the chunk's other fields. */
static bool
read_chunks(struct json_value array,
            bool nested,
            struct arena *arena,
            struct gate_split *split)
{
    size_t n = json_kind(array) == JSON_ARRAY ? json_count(array) : 0;
    struct gate_chunk *chunks = arena_calloc(arena, n, sizeof chunks[0]);
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item;
    if (!chunks)
        return false;
    for (size_t i = 0; i < n && json_next(&iter, &key, &item); i++)
        read_chunk(item, nested ? json_get(item, "numbers") : item, &chunks[i]);
    split->chunks = chunks;
    split->n_chunks = n;
    return true;
}

bool
input_json_split(struct json_value object,
                 struct arena *arena,
                 struct gate_split *ret_split)
{
    struct json_value numbers = json_get(object, "numbers");
    *ret_split = (struct gate_split){
        .status = split_status_of(json_string(json_get(object, "status"))),
        .aborted = json_truthy(json_get(object, "aborted")),
        .failed = json_truthy(json_get(object, "failed")),
        .refusal_code = json_string(json_get(object, "refusal_code")),
        .has_numbers = is_object(numbers),
    };
    if (ret_split->has_numbers)
        input_json_trace_numbers(numbers, &ret_split->numbers);
    return read_chunks(json_get(object, "chunks"), true, arena, ret_split);
}

bool
input_json_record(struct json_value record,
                  struct arena *arena,
                  struct gate_split *ret_split)
{
    struct json_value manifest = json_get(record, "manifest");
    int64_t status = STATUS_UNKNOWN;
    if (!json_int(json_get(manifest, "status"), &status) || status < 0 ||
        status > STATUS_NOT_SPLITTABLE)
        status = STATUS_UNKNOWN;
    *ret_split = (struct gate_split){
        .status = (enum split_status)status,
        .aborted = json_truthy(json_get(manifest, "aborted")),
        .refusal_code = json_string(json_get(json_get(record, "refusal"), "code")),
        .has_numbers = true,
    };
    input_json_trace_numbers(manifest, &ret_split->numbers);
    return read_chunks(json_get(record, "chunks"), false, arena, ret_split);
}

static void
overlay(struct json_value object, const char *name, struct slice *text)
{
    struct json_value value = json_get(object, name);
    if (json_kind(value) != JSON_ABSENT)
        *text = json_string(value);
}

void
input_json_request(struct json_value object, struct gate_request *request)
{
    struct json_value attempt = json_get(object, "attempt");
    overlay(object, "request_id", &request->request_id);
    overlay(object, "framework", &request->framework);
    overlay(object, "framework_kind", &request->framework_kind);
    overlay(object, "requested_mode", &request->requested_mode);
    overlay(object, "retry_of", &request->retry_of);
    overlay(object, "from_mode", &request->from_mode);
    overlay(object, "source_warning_code", &request->source_warning_code);
    if (json_kind(attempt) != JSON_ABSENT && !json_int(attempt, &request->attempt))
        request->attempt = 0;
}
