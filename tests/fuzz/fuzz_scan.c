/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace: the first byte chooses salvage, ceiling, budget and how plain
 * text is cut. Two readings that differ in variant of the index and in how the bytes come
 * give the same.
 */
#include "events.h"
#include "scan.h"
#include "text_feed.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPILL_BYTES = 4 << 20, SMALL_EVENT = 64 };

struct bytes {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t most; /* bytes a read gives at most */
};

static char spilled[SPILL_BYTES];

static enum err_kind
rewind_bytes(void *state, struct err *err)
{
    struct bytes *bytes = state;
    (void)err;
    bytes->at = 0;
    return ERR_OK;
}

static enum err_kind
read_bytes(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct bytes *bytes = state;
    size_t left = bytes->size - bytes->at;
    (void)err;
    *ret_len = left < cap ? left : cap;
    if (*ret_len > bytes->most)
        *ret_len = bytes->most;
    memcpy(buf, bytes->data + bytes->at, *ret_len);
    bytes->at += *ret_len;
    return ERR_OK;
}

static enum err_kind
write_spill(void *state, uint64_t offset, const void *data, size_t len, struct err *err)
{
    (void)state;
    if (offset + len > SPILL_BYTES)
        return err_set(err, ERR_RETRY, "full", "the spill is full");
    memcpy(spilled + offset, data, len);
    return ERR_OK;
}

static enum err_kind
read_spill(void *state, uint64_t offset, void *data, size_t len, struct err *err)
{
    (void)state;
    if (offset + len > SPILL_BYTES)
        return err_set(err, ERR_RETRY, "full", "behind the spill");
    memcpy(data, spilled + offset, len);
    return ERR_OK;
}

struct reading {
    enum err_kind kind;
    struct scan_answer answer;
    struct event_counts counts;
    int64_t busy_ns;
    uint64_t sum; /* over all events and what they name */
};

static uint64_t
mix(uint64_t sum, struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        sum = (sum ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
    return sum + text.len;
}

static uint64_t
sum_events(const struct events *events)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < events_cpu_count(events); i++) {
        struct event event = events_cpu(events, i);
        sum = mix(sum, events_text(events, event.name));
        sum = sum * 31 + (uint64_t)event.ts_ns + event_index(event);
        if (i && events_cpu(events, i - 1).ts_ns > event.ts_ns)
            abort();
    }
    for (uint64_t i = 0; i < events_gpu_count(events); i++) {
        struct event_run run = events_gpu_of(events, events_gpu(events, i).correlation);
        sum = sum * 31 + run.n;
    }
    return sum;
}

/* What one choice of limits needs; made once, as making it costs more than an input. */
struct context {
    struct split_limits limits;
    struct bytes bytes;
    struct unpack *unpack;
    struct feed_direct *direct;
    struct events *events;
};

static struct context *
context_of(unsigned choice)
{
    static struct context contexts[4];
    static const struct split_spill spill = {NULL, write_spill, read_spill};
    struct context *context = &contexts[choice];
    if (context->unpack)
        return context;
    context->limits = SPLIT_LIMITS_DEFAULT;
    context->limits.max_bytes = 16 << 20;
    if (choice & 1)
        context->limits.max_event_bytes = SMALL_EVENT;
    if (choice & 2)
        context->limits.index_memory = 1 << 20;
    struct split_source source = {&context->bytes, rewind_bytes, read_bytes};
    context->unpack = unpack_new(&source, &context->limits, UNPACK_ISAL);
    context->direct = feed_direct_new(context->unpack);
    context->events = events_new(&context->limits, &spill);
    return context;
}

static struct reading
read_feed(struct context *context, struct feed feed, bool salvage)
{
    struct reading reading;
    struct err err = {0};
    struct events *events = context->events;
    struct scan_listener listener = {
        .state = events, .event = events_add, .restart = events_reset};
    memset(&reading, 0, sizeof reading);
    if (events_reset(events, &err))
        abort();
    reading.kind =
        scan_run(&feed, &listener, &context->limits, salvage, &reading.answer, &err);
    if (!reading.kind)
        reading.kind = events_close(events, &err);
    if (!reading.kind) {
        reading.counts = *events_counts(events);
        reading.busy_ns = events_gpu_busy_ns(events);
        reading.sum = sum_events(events);
    }
    return reading;
}

/* As plain text that comes in pieces. */
static struct reading
read_pieces(struct context *context, struct slice text, size_t piece, bool salvage)
{
    static struct text_feed *pieces;
    if (!pieces)
        pieces = text_feed_new(text, piece);
    pieces->text = text;
    pieces->piece = piece;
    return read_feed(context, text_feed_feed(pieces), salvage);
}

static void
assert_same(const struct reading *a, const struct reading *b)
{
    const struct refusal *x = &a->answer.refusal;
    const struct refusal *y = &b->answer.refusal;
    bool is_same_code =
        x->code == y->code || (x->code && y->code && strcmp(x->code, y->code) == 0);
    if (a->kind != b->kind || !is_same_code || x->offset.value != y->offset.value ||
        a->answer.facts.events != b->answer.facts.events ||
        a->answer.facts.damaged_bytes != b->answer.facts.damaged_bytes ||
        memcmp(&a->counts, &b->counts, sizeof a->counts) != 0 || a->sum != b->sum ||
        a->busy_ns != b->busy_ns)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool salvage = data[0] & 1;
    struct context *context = context_of(data[0] >> 1 & 3);
    struct feed feed = feed_direct_feed(context->direct);
    context->bytes = (struct bytes){data + 1, size - 1, 0, SIZE_MAX};
    struct reading whole = read_feed(context, feed, salvage);
    context->bytes.most = 7;
    scan_variant_force(SCAN_PORTABLE);
    struct reading slow = read_feed(context, feed, salvage);
    scan_variant_force(SCAN_VARIANTS);
    assert_same(&whole, &slow);
    const char *container = whole.answer.container.container;
    if (size > 1 && container && strcmp(container, "plain") == 0) {
        struct slice text = {(const char *)data + 1, size - 1};
        struct reading cut = read_pieces(context, text, 1 + (data[0] >> 3), salvage);
        assert_same(&whole, &cut);
    }
    return 0;
}
