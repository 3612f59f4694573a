/* SPDX-License-Identifier: Apache-2.0 */
/* A trace document: the top-level keys, the array among them, and what stands behind. */
#include "scan.h"

#include "scan_decode.h"
#include "scan_state.h"
#include "scan_value.h"

#include "cleanup.h"

#include <stdlib.h>

/* One top-level value may always take this much; more when an event may. */
enum { MAX_HEADER_BYTES = 64 << 20 };

/* A key and where its value begins; places in the window. */
struct top_key {
    struct scan_value name;
    size_t end; /* behind the quote */
    size_t value;
    uint32_t repairs;
};

static enum scan_status
skip_to(const struct window *window, size_t *at)
{
    while (*at < window->len && scan_is_space(window->text[*at]))
        ++*at;
    if (*at < window->len)
        return SCAN_READ;
    return window->is_last ? SCAN_BROKEN : SCAN_MORE;
}

static enum scan_status
read_key(const struct scan *scan, struct top_key *ret)
{
    const struct window *window = &scan->window;
    const char *end = NULL;
    struct scan_text from = {window->text + scan->at, window->text + window->len,
                             window->is_last};
    if (*from.text != '"')
        return SCAN_BROKEN;
    enum scan_status status = scan_value_string(from, &ret->name, &end, &ret->repairs);
    if (status != SCAN_READ)
        return status;
    ret->end = ret->value = (size_t)(end - window->text);
    if ((status = skip_to(window, &ret->value)) != SCAN_READ)
        return status;
    if (window->text[ret->value++] != ':')
        return SCAN_BROKEN;
    return skip_to(window, &ret->value);
}

static bool
is_events_key(struct scan_value name)
{
    static const struct slice wanted = {"traceEvents", 11};
    char text[16];
    size_t len = scan_decode_short(name, text, sizeof text);
    return len == wanted.len && memcmp(text, wanted.data, len) == 0;
}

/* Counts the distinct keys. */
static enum err_kind
note_key(struct scan *scan, struct scan_value name, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    uint32_t number;
    scan_add_text(&text, name);
    if (!text.failed && texts_add(scan->keys, buf_slice(&text), &number))
        return ERR_OK;
    if (!texts_is_full(scan->keys))
        return err_no_memory(err, "the top-level keys of a trace");
    refusal_set(&scan->refusal, "trace_too_large", "too many top-level keys");
    scan->refusal.limit = scan->refusal.option = "max_strings";
    return ERR_OK;
}

static enum err_kind
tell_header(struct scan *scan,
            const struct top_key *key,
            struct slice value,
            uint32_t repairs,
            bool is_after,
            struct err *err)
{
    const struct scan_listener *listener = scan->listener;
    const char *text = scan->window.text;
    struct slice name = {text + scan->at, key->end - scan->at};
    for (unsigned i = 0; i < SCAN_REPAIRS; i++)
        if (1U << i != SCAN_INVALID_UTF8)
            scan->facts->header_repairs[i] += repairs >> i & 1;
    enum err_kind kind = note_key(scan, key->name, err);
    if (kind || scan->refusal.code || !listener->header)
        return kind;
    return listener->header(listener->state, name, value, repairs | key->repairs,
                            is_after, err);
}

enum step {
    STEP_DONE,   /* a key and its value were read */
    STEP_MORE,   /* more text is needed */
    STEP_BROKEN, /* the key or its value is */
};

struct document {
    struct scan *scan;
    bool has_array;
};

static enum err_kind
read_events_key(struct document *document, const struct top_key *key, struct err *err)
{
    struct scan *scan = document->scan;
    uint64_t base = scan->window.base;
    if (document->has_array) {
        refusal_set(&scan->refusal, "trace_corrupt", "two traceEvents keys");
        scan->refusal.offset = refusal_number(base + scan->at);
        return ERR_OK;
    }
    if (scan->window.text[key->value] != '[') {
        refusal_set(&scan->refusal, "not_a_trace", "traceEvents is not an array");
        scan->refusal.offset = refusal_number(base + key->value);
        return ERR_OK;
    }
    document->has_array = true;
    scan->facts->keys_before = texts_count(scan->keys) - 1;
    scan->at = key->value + 1;
    window_index_from(&scan->window, scan->at);
    return scan_array(scan, false, err);
}

static enum step
step_of(enum scan_status status)
{
    return status == SCAN_READ   ? STEP_DONE
           : status == SCAN_MORE ? STEP_MORE
                                 : STEP_BROKEN;
}

/* The key at scan->at, and its value. */
static enum err_kind
read_member(struct document *document, enum step *ret_step, struct err *err)
{
    struct scan *scan = document->scan;
    const struct window *window = &scan->window;
    struct top_key key;
    struct scan_value value;
    const char *end = NULL;
    uint32_t repairs;
    *ret_step = step_of(read_key(scan, &key));
    if (*ret_step != STEP_DONE)
        return ERR_OK;
    if (is_events_key(key.name))
        return read_events_key(document, &key, err);
    struct scan_text from = {window->text + key.value, window->text + window->len,
                             window->is_last};
    *ret_step = step_of(scan_value_read(from, NULL, &value, &end, &repairs));
    if (*ret_step != STEP_DONE)
        return ERR_OK;
    struct slice raw = {from.text, (size_t)(end - from.text)};
    enum err_kind kind = tell_header(scan, &key, raw, repairs, document->has_array, err);
    scan->at = (size_t)(end - window->text);
    return kind;
}

static enum err_kind
more_of_member(struct scan *scan, struct err *err)
{
    struct window *window = &scan->window;
    if (window->len - scan->at > MAX_HEADER_BYTES &&
        window->len - scan->at > scan->max_event) {
        refusal_set(&scan->refusal, "trace_too_large",
                    "a top-level value is larger than max_event_bytes");
        scan->refusal.limit = scan->refusal.option = "max_event_bytes";
        return ERR_OK;
    }
    enum err_kind kind = window_refill(window, scan->at, err);
    scan->at = 0;
    return kind;
}

/* Nothing sensible can follow a broken key. */
static enum err_kind
end_at_broken_key(struct document *document, struct err *err)
{
    struct scan *scan = document->scan;
    struct scan_facts *facts = scan->facts;
    struct scan_rest rest;
    uint64_t offset = scan_offset(scan);
    enum err_kind kind = scan_pass_rest(scan, &rest, err);
    if (kind)
        return kind;
    if (rest.is_open) {
        scan->is_truncated = true;
    } else if (document->has_array) {
        facts->damaged_header_keys++;
        facts->header_damage_offset = offset;
        if (rest.has_events)
            scan->lost_at = refusal_number(offset);
    } else {
        refusal_set(&scan->refusal, "trace_corrupt", "broken top-level key");
        scan->refusal.offset = refusal_number(offset);
    }
    return ERR_OK;
}

static enum err_kind
end_of_document(struct scan *scan, struct err *err)
{
    struct scan_rest rest;
    uint64_t offset = scan_offset(scan);
    enum err_kind kind = scan_pass_rest(scan, &rest, err);
    if (rest.has_events)
        scan->lost_at = refusal_number(offset);
    scan->facts->trailing_bytes = rest.bytes;
    return kind;
}

/* Behind a value: a comma, the end of the object, or the end of the text. */
static enum err_kind
pass_separator(struct scan *scan, enum step *ret_step, struct err *err)
{
    int byte;
    enum err_kind kind = scan_peek(scan, &byte, err);
    if (byte == ',')
        scan->at++;
    else if (byte != '}' && byte >= 0)
        *ret_step = STEP_BROKEN;
    return kind;
}

static enum err_kind
read_members(struct document *document, struct err *err)
{
    struct scan *scan = document->scan;
    enum err_kind kind;
    int byte;
    while (!(kind = scan_peek(scan, &byte, err))) {
        enum step step = STEP_DONE;
        if (byte < 0)
            scan->is_truncated = true;
        if (byte == '}') {
            scan->at++;
            return end_of_document(scan, err);
        }
        if (scan->is_truncated || (kind = read_member(document, &step, err)) ||
            scan->refusal.code || scan->is_truncated)
            return kind;
        kind = step == STEP_MORE ? more_of_member(scan, err) : ERR_OK;
        if (step == STEP_DONE)
            kind = pass_separator(scan, &step, err);
        if (kind || scan->refusal.code)
            return kind;
        if (step == STEP_BROKEN)
            return end_at_broken_key(document, err);
    }
    return kind;
}

static enum err_kind
read_object(struct scan *scan, struct err *err)
{
    struct document document = {.scan = scan};
    scan->at++;
    enum err_kind kind = read_members(&document, err);
    if (kind || scan->refusal.code)
        return kind;
    if (document.has_array)
        scan->facts->keys_after = texts_count(scan->keys) - 1 - scan->facts->keys_before;
    else if (!scan->is_truncated)
        refusal_set(&scan->refusal, "not_a_trace", "no traceEvents key");
    return ERR_OK;
}

static enum err_kind
read_bare_array(struct scan *scan, struct err *err)
{
    scan->at++;
    window_index_from(&scan->window, scan->at);
    enum err_kind kind = scan_array(scan, true, err);
    if (kind || scan->is_truncated)
        return kind;
    return end_of_document(scan, err);
}

/* Neither { nor [: nothing but white space and NUL, or another kind of file. */
static enum err_kind
refuse_first_byte(struct scan *scan, struct err *err)
{
    struct scan_rest rest;
    uint64_t offset = scan_offset(scan);
    enum err_kind kind = scan_pass_rest(scan, &rest, err);
    if (rest.bytes == 0) {
        refusal_set(&scan->refusal, "trace_empty", "%s", "");
        scan->refusal.bytes = refusal_number(scan_offset(scan));
    } else {
        refusal_set(&scan->refusal, "not_a_trace",
                    "the document starts with neither { nor [");
        scan->refusal.offset = refusal_number(offset);
    }
    return kind;
}

static enum err_kind
pass_byte_order_mark(struct scan *scan, struct err *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct window *window = &scan->window;
    enum err_kind kind = ERR_OK;
    while (!kind && window->len < sizeof mark - 1 && !window->is_last)
        kind = window_refill(window, 0, err);
    if (kind || window->len < sizeof mark - 1 ||
        memcmp(window->text, mark, sizeof mark - 1) != 0)
        return kind;
    scan->facts->bom = true;
    scan->at = sizeof mark - 1;
    return ERR_OK;
}

static enum err_kind
read_document(struct scan *scan, struct err *err)
{
    int byte = -1;
    enum err_kind kind = window_rewind(&scan->window, err);
    if (kind || (kind = pass_byte_order_mark(scan, err)) ||
        (kind = scan_peek(scan, &byte, err)))
        return kind;
    if (byte != '{' && byte != '[')
        return refuse_first_byte(scan, err);
    scan->facts->is_document = true;
    scan->facts->is_array = byte == '[';
    return byte == '[' ? read_bare_array(scan, err) : read_object(scan, err);
}

/* The input is read to its end, so that its bytes are counted and its end is known. */
static enum err_kind
drain(struct scan *scan, struct err *err)
{
    enum err_kind kind = ERR_OK;
    while (!kind && !scan->window.is_last)
        kind = window_refill(&scan->window, scan->window.len, err);
    return kind;
}

static enum err_kind
read_once(struct scan *scan, struct err *err)
{
    enum err_kind kind = read_document(scan, err);
    return kind ? kind : drain(scan, err);
}

static void
begin(struct scan *scan, const struct split_limits *limits, struct scan_answer *answer)
{
    *answer = (struct scan_answer){0};
    scan->at = 0;
    scan->facts = &answer->facts;
    scan->refusal = (struct refusal){0};
    scan->next_index = 0;
    scan->last_event_end = 0;
    scan->is_truncated = false;
    scan->lost_at = (struct refusal_number){0};
    scan->max_event = limits->max_event_bytes < SCAN_MAX_EVENT_BYTES
                          ? limits->max_event_bytes
                          : SCAN_MAX_EVENT_BYTES;
    texts_free(scan->keys);
    scan->keys = texts_new(limits->max_strings);
}

static enum err_kind
run(struct scan *scan,
    const struct split_limits *limits,
    bool salvage,
    struct scan_answer *ret_answer,
    struct err *err)
{
    const struct feed *feed = &scan->window.feed;
    const struct scan_listener *listener = scan->listener;
    const struct unpack_end *end;
    enum err_kind kind = ERR_OK;
    for (;;) {
        begin(scan, limits, ret_answer);
        if (listener->marks && !listener->marks->are_used)
            listener->marks->n = 0;
        if (!scan->keys)
            return err_no_memory(err, "the top-level keys of a trace");
        kind = read_once(scan, err);
        if (kind)
            return kind;
        end = feed->end(feed->state);
        if (end->problem != UNPACK_AGAIN)
            break;
        if (listener->restart && (kind = listener->restart(listener->state, err)))
            return kind;
    }
    scan_settle(scan, end, salvage, ret_answer);
    return ERR_OK;
}

enum err_kind
scan_run(const struct feed *feed,
         const struct scan_listener *listener,
         const struct split_limits *limits,
         bool salvage,
         struct scan_answer *ret_answer,
         struct err *err)
{
    struct scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return err_no_memory(err, "the scanner");
    scan->listener = listener;
    window_init(&scan->window, *feed);
    enum err_kind kind = run(scan, limits, salvage, ret_answer, err);
    window_done(&scan->window);
    texts_free(scan->keys);
    free(scan);
    return kind;
}
