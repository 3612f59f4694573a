/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes around an array of events: what is told of the top-level keys lies in the
 * document, and reads again after repair without one.
 */
#include "scan.h"
#include "scan_value.h"

#include "cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    struct slice text;
    size_t at;
};

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
    size_t left = bytes->text.len - bytes->at;
    (void)err;
    *ret_len = left < cap ? left : cap;
    memcpy(buf, bytes->text.data + bytes->at, *ret_len);
    bytes->at += *ret_len;
    return ERR_OK;
}

/* A repaired value is a value that needs no repair. */
static void
check_repaired(struct slice raw, uint32_t repairs)
{
    CLEANUP(buf_done) struct buf repaired = BUF_INIT;
    struct scan_value value;
    const char *end;
    uint32_t left = 0;
    scan_add_repaired(&repaired, raw, repairs);
    struct slice text = buf_slice(&repaired);
    struct scan_text whole = {text.data, text.data + text.len, true};
    if (scan_value_read(whole, NULL, &value, &end, &left) != SCAN_READ ||
        end != whole.end || left & ~(uint32_t)SCAN_DUPLICATE_KEY)
        abort();
}

static enum err_kind
check_header(void *state,
             struct slice key,
             struct slice value,
             uint32_t repairs,
             bool is_after,
             struct err *err)
{
    CLEANUP(buf_done) struct buf compact = BUF_INIT;
    (void)state;
    (void)is_after;
    (void)err;
    check_repaired(key, repairs);
    check_repaired(value, repairs);
    scan_add_compact(&compact, value);
    return ERR_OK;
}

static enum err_kind
check_event(void *state, const struct scan_event *event, struct err *err)
{
    (void)state;
    (void)err;
    check_repaired(event->raw, event->repairs);
    for (uint32_t left = event->present; left; left &= left - 1) {
        const struct scan_value *value = &event->field[__builtin_ctz(left)];
        if (value->text < event->raw.data ||
            value->text + value->len > event->raw.data + event->raw.len)
            abort();
    }
    return ERR_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct scan_answer answer;
    /* A byte FF stands for the array. */
    for (size_t i = 0; i < size; i++)
        if (data[i] == 0xff)
            buf_add_str(&text, "\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1}]");
        else
            buf_add_byte(&text, (char)data[i]);
    struct bytes bytes = {buf_slice(&text), 0};
    struct split_source source = {&bytes, rewind_bytes, read_bytes};
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ZLIB);
    struct feed_direct *direct = feed_direct_new(unpack);
    struct feed feed = feed_direct_feed(direct);
    struct scan_listener listener = {.event = check_event, .header = check_header};
    limits.max_bytes = 16 << 20;
    if (scan_run(&feed, &listener, &limits, true, &answer, NULL))
        abort();
    feed_direct_free(direct);
    unpack_free(unpack);
    return 0;
}
