/* SPDX-License-Identifier: Apache-2.0 */
/* Whole traces through the splitter, and its answers beside those of the model. */
#include "split_trace.h"

#include "compare.h"
#include "split.h"
#include "vectors.h"

#include "cleanup.h"

enum { PIECE_BYTES = 64 << 10, MAX_LEVELS = 32 };

/* --- parameters -------------------------------------------------------------------- */

static struct split_number
take_number(struct json_value object, const char *name, struct split_number fallback)
{
    struct json_value value = json_get(object, name);
    int64_t integer;
    double real;
    if (json_kind(value) == JSON_ABSENT)
        return fallback;
    if (json_kind(value) == JSON_NULL)
        return (struct split_number){SPLIT_NUMBER_ABSENT, 0, 0};
    if (json_int(value, &integer))
        return SPLIT_INTEGER(integer);
    if (json_double(value, &real))
        return SPLIT_REAL(real);
    return (struct split_number){SPLIT_NUMBER_OTHER, 0, 0};
}

static bool
take_flag(struct json_value object, const char *name)
{
    struct json_value value = json_get(object, name);
    return json_kind(value) == JSON_BOOLEAN && json_is_true(value);
}

static void
take_text(struct json_value object, const char *name, struct slice *text)
{
    struct slice given = json_string(json_get(object, name));
    if (given.data)
        *text = given;
}

struct split_params
split_params_of(struct json_value input)
{
    struct split_params params = SPLIT_PARAMS_DEFAULT;
    params.num_steps = take_number(input, "num_steps", params.num_steps);
    params.conc = take_number(input, "conc", params.conc);
    params.osl = take_number(input, "osl", params.osl);
    params.r = take_number(input, "r", params.r);
    params.max_num_seq = take_number(input, "max_num_seq", params.max_num_seq);
    take_text(input, "mode", &params.mode);
    take_text(input, "iterations", &params.iterations);
    params.llm_inference = take_flag(input, "llm");
    params.allow_degraded = take_flag(input, "allow_degraded");
    params.salvage = take_flag(input, "salvage");
    return params;
}

/* --- the trace --------------------------------------------------------------------- */

struct memory {
    struct slice bytes;
    size_t at;
};

static enum err_kind
rewind_memory(void *state, struct err *err)
{
    struct memory *memory = state;
    (void)err;
    memory->at = 0;
    return ERR_OK;
}

static enum err_kind
read_memory(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct memory *memory = state;
    (void)err;
    size_t left = memory->bytes.len - memory->at;
    *ret_len = cap < left ? cap : left;
    if (*ret_len)
        memcpy(buf, memory->bytes.data + memory->at, *ret_len);
    memory->at += *ret_len;
    return ERR_OK;
}

static void
free_unpack(struct unpack **unpack)
{
    if (*unpack)
        unpack_free(*unpack);
}

static void
free_direct(struct feed_direct **direct)
{
    if (*direct)
        feed_direct_free(*direct);
}

enum err_kind
split_trace_run(struct slice bytes,
                struct json_value params,
                struct slice base,
                enum document_events events,
                struct buf *answer,
                struct err *err)
{
    struct memory memory = {bytes, 0};
    struct split_source source = {&memory, rewind_memory, read_memory};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    CLEANUP(free_unpack)
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    CLEANUP(free_direct)
    struct feed_direct *direct = unpack ? feed_direct_new(unpack) : NULL;
    if (!direct)
        return err_no_memory(err, "a trace");
    struct split_job job = {
        .feed = feed_direct_feed(direct),
        .limits = limits,
        .params = split_params_of(params),
        .base = base,
        .lists_metadata = true,
    };
    CLEANUP(split_answer_done) struct split_answer split;
    if (split_derive(&job, &split, err))
        return err->kind;
    document_add(answer, &split, events, NULL);
    return buf_check(answer, "the answer", err);
}

enum err_kind
split_trace_scan(struct slice text, const struct scan_listener *listener, struct err *err)
{
    struct memory memory = {text, 0};
    struct split_source source = {&memory, rewind_memory, read_memory};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct scan_answer ignored;
    CLEANUP(free_unpack)
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    CLEANUP(free_direct)
    struct feed_direct *direct = unpack ? feed_direct_new(unpack) : NULL;
    if (!direct)
        return err_no_memory(err, "a document");
    struct feed feed = feed_direct_feed(direct);
    return scan_run(&feed, listener, &limits, false, &ignored, err);
}

enum err_kind
split_trace_unpack(struct slice bytes, struct buf *text, struct err *err)
{
    struct memory memory = {bytes, 0};
    struct split_source source = {&memory, rewind_memory, read_memory};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    CLEANUP(free_unpack)
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ZLIB);
    if (!unpack)
        return err_no_memory(err, "a trace");
    if (unpack_rewind(unpack, err))
        return err->kind;
    char piece[PIECE_BYTES];
    size_t len;
    do {
        if (unpack_read(unpack, piece, sizeof piece, &len, err))
            return err->kind;
        buf_add(text, piece, len);
    } while (len > 0);
    return buf_check(text, "the text of a trace", err);
}

/* --- comparing --------------------------------------------------------------------- */

/* Where a value stands, as far as the rule asks. */
enum place {
    PLACE_TOP,
    PLACE_REFUSAL,
    PLACE_MANIFEST,
    PLACE_INPUT,
    PLACE_CHUNKS,
    PLACE_CHUNK,
    PLACE_OTHER
};

static bool
is_one_of(struct slice key, const char *const *names)
{
    for (; *names; names++)
        if (slice_is(key, *names))
            return true;
    return false;
}

/* Keys that are not compared. `with_*`: of this case they are. */
static bool
is_left_out(enum place place, struct slice key, bool with_reason, bool with_offset)
{
    static const char *const top[] = {"trace",  "request",    "split",
                                      "origin", "provenance", NULL};
    static const char *const chunk[] = {"uri", "bytes", "sha256", NULL};
    switch (place) {
    case PLACE_TOP:
        return is_one_of(key, top);
    case PLACE_REFUSAL:
        return slice_is(key, "option") || (!with_reason && slice_is(key, "reason")) ||
               (!with_offset && slice_is(key, "offset"));
    case PLACE_MANIFEST:
        return slice_is(key, "reason");
    case PLACE_INPUT:
        return slice_is(key, "high_ratio");
    case PLACE_CHUNK:
        return is_one_of(key, chunk);
    case PLACE_CHUNKS:
    case PLACE_OTHER:
    default:
        return false;
    }
}

static enum place
place_below(enum place place, struct slice key)
{
    if (place == PLACE_CHUNKS)
        return PLACE_CHUNK;
    if (place == PLACE_MANIFEST)
        return slice_is(key, "input") ? PLACE_INPUT : PLACE_OTHER;
    if (place != PLACE_TOP)
        return PLACE_OTHER;
    return slice_is(key, "refusal")    ? PLACE_REFUSAL
           : slice_is(key, "manifest") ? PLACE_MANIFEST
           : slice_is(key, "chunks")   ? PLACE_CHUNKS
                                       : PLACE_OTHER;
}

/* A container that is being written without what is not compared. */
struct level {
    struct json_iter iter;
    enum place place;
    bool is_object;
};

static bool
open_level(struct buf *out,
           struct level *levels,
           size_t *n,
           struct json_value value,
           enum place place)
{
    enum json_kind kind = json_kind(value);
    if ((kind != JSON_OBJECT && kind != JSON_ARRAY) || *n == MAX_LEVELS) {
        json_write_verbatim(out, value);
        return false;
    }
    levels[(*n)++] = (struct level){json_iter(value), place, kind == JSON_OBJECT};
    buf_add_byte(out, kind == JSON_OBJECT ? '{' : '[');
    return true;
}

static void
write_compared(struct buf *out,
               struct json_value value,
               bool with_reason,
               bool with_offset)
{
    struct level levels[MAX_LEVELS];
    size_t n = 0;
    open_level(out, levels, &n, value, PLACE_TOP);
    while (n) {
        struct level *level = &levels[n - 1];
        struct slice key;
        struct json_value item;
        if (!json_next(&level->iter, &key, &item)) {
            buf_add_byte(out, level->is_object ? '}' : ']');
            n--;
            continue;
        }
        if (level->is_object &&
            (json_kind(item) == JSON_NULL ||
             is_left_out(level->place, key, with_reason, with_offset)))
            continue;
        char last = out->data[out->len - 1];
        if (last != '{' && last != '[')
            buf_add_byte(out, ',');
        enum place place = place_below(level->place, key);
        if (level->is_object) {
            json_write_string(out, key);
            buf_add_byte(out, ':');
        }
        open_level(out, levels, &n, item, place);
    }
}

bool
split_answers_equal(struct json_value want,
                    struct json_value got,
                    struct arena *arena,
                    struct buf *where)
{
    static const char *const with_reasons[] = {"degraded", "not_splittable",
                                               "chunk_kind_absent", NULL};
    CLEANUP(buf_done) struct buf want_text;
    CLEANUP(buf_done) struct buf got_text;
    struct json want_doc;
    struct json got_doc;
    struct err err;
    struct json_value refusal = json_get(want, "refusal");
    struct slice code = json_string(json_get(refusal, "code"));
    enum json_kind offset = json_kind(json_get(refusal, "offset"));
    bool with_reason = code.data && is_one_of(code, with_reasons);
    bool with_offset = offset != JSON_ABSENT && offset != JSON_NULL;
    buf_init(&want_text, SIZE_MAX);
    buf_init(&got_text, SIZE_MAX);
    write_compared(&want_text, want, with_reason, with_offset);
    write_compared(&got_text, got, with_reason, with_offset);
    if (json_read(&want_doc, buf_slice(&want_text), arena, &err) ||
        json_read(&got_doc, buf_slice(&got_text), arena, &err)) {
        buf_add_str(where, err.msg);
        return false;
    }
    return values_equal(json_root(&want_doc), json_root(&got_doc), COMPARE_EXACT, arena,
                        where);
}
