/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a dead letter. */
#include "deadletter.h"

#include <inttypes.h>
#include <stdio.h>

#include "digest.h"
#include "framing.h"

#define CONNECT_PREFIX "__connect.errors."

enum {
    MAX_ADDED = 24, /* headers that one dead letter adds, Connect's names included */
    HEADER_VARINT_BYTES = 10,
    NUMBER_BYTES = 24,
};

struct builder {
    struct arena *arena;
    struct header *items;
    size_t n;
    bool failed;
};

struct slice
header_last(const struct header *headers, size_t n, const char *name)
{
    for (size_t i = n; i > 0; i--)
        if (slice_is(headers[i - 1].name, name))
            return headers[i - 1].value;
    return (struct slice){0};
}

size_t
headers_size(const struct header *headers, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += headers[i].name.len + headers[i].value.len + HEADER_VARINT_BYTES;
    return size;
}

/* Bytes of the UTF-8 sequence at the start of `text`; 0 when it is none. */
static size_t
sequence_length(struct slice text)
{
    const unsigned char *s = (const unsigned char *)text.data;
    if (s[0] < 0x80)
        return 1;
    size_t len = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || len > text.len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool outside = (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF4 && s[1] > 0x8F);
    return overlong || outside ? 0 : len;
}

/* At most `max` bytes of whole characters; what is no UTF-8 becomes a question mark. */
static struct slice
clean_text(struct builder *to, struct slice text, size_t max)
{
    char *out = arena_alloc(to->arena, max);
    if (!out) {
        to->failed = true;
        return (struct slice){0};
    }
    size_t n = 0;
    while (text.len > 0) {
        size_t len = sequence_length(text);
        size_t take = len ? len : 1;
        if (n + take > max)
            break;
        if (len)
            memcpy(out + n, text.data, len);
        else
            out[n] = '?';
        n += take;
        text.data += take;
        text.len -= take;
    }
    return (struct slice){out, n};
}

static void
add(struct builder *to, const char *name, struct slice value)
{
    to->items[to->n++] = (struct header){slice_of(name), value};
}

static void
add_text(struct builder *to, const char *name, struct slice text)
{
    add(to, name, clean_text(to, text, DEAD_TEXT_BYTES));
}

static void
add_number(struct builder *to, const char *name, int64_t number)
{
    char text[NUMBER_BYTES];
    int n = snprintf(text, sizeof text, "%" PRId64, number);
    add_text(to, name, (struct slice){text, (size_t)n});
}

static bool
starts_with(struct slice name, const char *prefix)
{
    size_t len = strlen(prefix);
    return name.len >= len && memcmp(name.data, prefix, len) == 0;
}

static void
keep_original(struct builder *to, const struct message *in, bool connect_names)
{
    for (size_t i = 0; i < in->n_headers; i++) {
        struct slice name = in->headers[i].name;
        if (starts_with(name, DEAD_HEADER_PREFIX))
            continue;
        if (connect_names && starts_with(name, CONNECT_PREFIX))
            continue;
        to->items[to->n++] = in->headers[i];
    }
}

static void
add_origin(struct builder *to, const struct message *in)
{
    add_text(to, DEAD_ORIGIN_TOPIC, slice_of(in->topic));
    add_number(to, DEAD_ORIGIN_PARTITION, in->partition);
    add_number(to, DEAD_ORIGIN_OFFSET, in->offset);
    add_number(to, DEAD_ORIGIN_TIMESTAMP, in->timestamp_ms);
}

static void
add_source(struct builder *to, const struct dead_letter_source *source)
{
    add_text(to, DEAD_GROUP, slice_of(source->group));
    add_text(to, DEAD_WORKER, slice_of(source->worker));
    add_text(to, DEAD_WORKER_VERSION, slice_of(source->version));
}

static void
add_reason(struct builder *to, const struct err *why)
{
    add_text(to, DEAD_STAGE, slice_of(why->stage ? why->stage : "derive"));
    add_text(to, DEAD_CODE, slice_of(why->code));
    add(to, DEAD_MESSAGE, clean_text(to, slice_of(why->msg), DEAD_MESSAGE_BYTES));
}

static bool
is_number(struct slice text)
{
    if (text.len == 0 || text.len >= NUMBER_BYTES)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return true;
}

static void
add_history(struct builder *to, const struct message *in, int64_t now_ms)
{
    struct slice attempt = header_last(in->headers, in->n_headers, DEAD_ATTEMPT);
    struct slice first = header_last(in->headers, in->n_headers, DEAD_FIRST_FAILED_AT);
    if (is_number(attempt))
        add_text(to, DEAD_ATTEMPT, attempt);
    else
        add_number(to, DEAD_ATTEMPT, 1);
    if (is_number(first))
        add_text(to, DEAD_FIRST_FAILED_AT, first);
    else
        add_number(to, DEAD_FIRST_FAILED_AT, now_ms);
}

static void
add_value_facts(struct builder *to, const struct message *in)
{
    struct frame frame;
    char text[DIGEST_HEX];
    if (frame_read(in->value, &frame, NULL) == ERR_OK) {
        if (frame.kind == FRAME_CONFLUENT) {
            add_number(to, DEAD_SCHEMA_ID, frame.schema_id);
        } else {
            snprintf(text, sizeof text, "%016" PRIx64, frame.fingerprint);
            add_text(to, DEAD_SCHEMA_FINGERPRINT, slice_of(text));
        }
    }
    if (!in->value.data)
        return; /* no value, no digest */
    digest_hex(in->value, text);
    add_text(to, DEAD_SRC, slice_of(text));
}

static void
add_connect(struct builder *to,
            const struct dead_letter_source *source,
            const struct message *in,
            const struct err *why)
{
    add_text(to, CONNECT_PREFIX "topic", slice_of(in->topic));
    add_number(to, CONNECT_PREFIX "partition", in->partition);
    add_number(to, CONNECT_PREFIX "offset", in->offset);
    add_text(to, CONNECT_PREFIX "connector.name", slice_of(source->group));
    add_text(to, CONNECT_PREFIX "stage", slice_of(why->stage ? why->stage : "derive"));
    add_text(to, CONNECT_PREFIX "class.name", slice_of(source->worker));
    add_text(to, CONNECT_PREFIX "exception.class.name", slice_of(why->code));
    add(to, CONNECT_PREFIX "exception.message",
        clean_text(to, slice_of(why->msg), DEAD_MESSAGE_BYTES));
}

enum err_kind
dead_letter_headers(const struct dead_letter_source *source,
                    const struct message *in,
                    const struct err *why,
                    int64_t now_ms,
                    struct arena *arena,
                    const struct header **ret_headers,
                    size_t *ret_n,
                    struct err *err)
{
    struct builder to = {.arena = arena};
    to.items = arena_calloc(arena, in->n_headers + MAX_ADDED, sizeof *to.items);
    if (!to.items)
        return err_no_memory(err, "the headers of a dead letter");
    keep_original(&to, in, source->connect_names);
    add_origin(&to, in);
    add_source(&to, source);
    add_reason(&to, why);
    add_history(&to, in, now_ms);
    add_value_facts(&to, in);
    if (source->connect_names)
        add_connect(&to, source, in, why);
    if (to.failed)
        return err_no_memory(err, "the headers of a dead letter");
    *ret_headers = to.items;
    *ret_n = to.n;
    return ERR_OK;
}

/* The number in a header's last value; `fallback` when there is none that fits. */
static int64_t
number_of(const struct message *in, const char *name, int64_t fallback)
{
    struct slice text = header_last(in->headers, in->n_headers, name);
    int64_t number = 0;
    if (!is_number(text))
        return fallback;
    for (size_t i = 0; i < text.len; i++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.data[i] - '0', &number))
            return fallback;
    return number;
}

bool
dead_letter_read(const struct message *in, struct dead_letter *ret_letter)
{
    int64_t attempt = number_of(in, DEAD_ATTEMPT, 1);
    *ret_letter = (struct dead_letter){
        .code = header_last(in->headers, in->n_headers, DEAD_CODE),
        .stage = header_last(in->headers, in->n_headers, DEAD_STAGE),
        .worker = header_last(in->headers, in->n_headers, DEAD_WORKER),
        .src = header_last(in->headers, in->n_headers, DEAD_SRC),
        .origin_topic = header_last(in->headers, in->n_headers, DEAD_ORIGIN_TOPIC),
        .origin_partition = number_of(in, DEAD_ORIGIN_PARTITION, -1),
        .origin_offset = number_of(in, DEAD_ORIGIN_OFFSET, -1),
        .first_failed_at_ms = number_of(in, DEAD_FIRST_FAILED_AT, -1),
        .attempt = attempt > 0 ? attempt : 1,
    };
    return ret_letter->code.len > 0 && ret_letter->origin_topic.len > 0;
}

enum err_kind
dead_letter_requeue_headers(const struct message *in,
                            struct arena *arena,
                            const struct header **ret_headers,
                            size_t *ret_n,
                            struct err *err)
{
    struct dead_letter letter;
    struct builder to = {.arena = arena};
    to.items = arena_calloc(arena, in->n_headers + MAX_ADDED, sizeof *to.items);
    if (!to.items)
        return err_no_memory(err, "the headers of a record");
    dead_letter_read(in, &letter);
    keep_original(&to, in, true);
    add_number(&to, DEAD_ATTEMPT,
               letter.attempt < INT64_MAX ? letter.attempt + 1 : letter.attempt);
    if (letter.first_failed_at_ms >= 0)
        add_number(&to, DEAD_FIRST_FAILED_AT, letter.first_failed_at_ms);
    if (to.failed)
        return err_no_memory(err, "the headers of a record");
    *ret_headers = to.items;
    *ret_n = to.n;
    return ERR_OK;
}
