/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an event, one by one, and the keys they are kept under. */
#include "join.h"

#include "digest.h"
#include "json.h"
#include "topics.h"

#include <inttypes.h>

/* What a state record holds besides the event's own text and the payload. */
enum { STATE_OVERHEAD_BYTES = 16 * 1024 };

/* One event on its way to its parts. */
struct splitting {
    const struct tuning_event *event;
    const struct message *in;
    struct arena *arena;
    struct join_part common; /* what all parts of the event share */
    struct join_split split;
};

static size_t
state_max_bytes(void)
{
    const struct topic *topic = topic_find(TOPIC_STATE_AUDIT);
    return topic->max_message_bytes - TOPIC_RECORD_OVERHEAD_BYTES - STATE_OVERHEAD_BYTES;
}

/* An empty payload is a part, too: never a null slice. */
static struct slice
bytes_of(const struct payload *payload)
{
    return payload->bytes.data ? payload->bytes : SLICE("");
}

static enum err_kind
check_gathered(const struct payload *payload, struct err *err)
{
    if (payload->kind == PAYLOAD_INLINE)
        return ERR_OK;
    return err_set(err, ERR_RECORD, "tuning_event_malformed",
                   "a part of the event is a claim that was not gathered");
}

/* Its text, in the arena; null when that is full. */
static struct slice
digest_of(struct slice bytes, struct arena *arena)
{
    char *sha256 = arena_alloc(arena, DIGEST_HEX);
    if (!sha256)
        return (struct slice){NULL, 0};
    digest_hex(bytes, sha256);
    return (struct slice){sha256, DIGEST_HEX - 1};
}

/* `sha256` is null where it is not known yet. */
static enum err_kind
add(struct splitting *splitting,
    enum join_part_kind kind,
    struct slice name,
    struct slice sha256,
    const struct payload *payload,
    int64_t event_time_us,
    struct err *err)
{
    struct slice bytes = bytes_of(payload);
    if (check_gathered(payload, err))
        return err->kind;
    if (!sha256.data)
        sha256 = digest_of(bytes, splitting->arena);
    if (!sha256.data)
        return audit_full(err);
    struct join_item *item = &splitting->split.items[splitting->split.n++];
    *item = (struct join_item){.part = splitting->common, .bytes = bytes, .is_new = true};
    item->part.kind = (int32_t)kind;
    item->part.name = name.data ? name : SLICE("");
    item->part.event_time_us = event_time_us;
    item->part.sha256 = sha256;
    item->part.claimed = payload->claim.uri.data != NULL;
    item->part.payload = *payload;
    item->part.payload.bytes = bytes;
    size_t needed = bytes.len + splitting->in->value.len + 2 * name.len;
    if (item->part.claimed && needed > state_max_bytes())
        item->part.payload.kind = PAYLOAD_CLAIM;
    return ERR_OK;
}

static enum err_kind
add_result(struct splitting *splitting,
           const struct audit_identity *identity,
           struct err *err)
{
    const struct tuning_event *event = splitting->event;
    if (add(splitting, JOIN_RESULT, identity->run_key, slice_of(identity->sha256),
            &event->result, event->origin.captured_at_us, err))
        return err->kind;
    struct join_item *item = &splitting->split.items[splitting->split.n - 1];
    item->identity = identity;
    item->part.started_at = identity->started_at;
    item->part.defaults = event->defaults;
    return ERR_OK;
}

/* A verdict that is no object is a part all the same, but not when it came alone. */
static enum err_kind
check_verdict(const struct splitting *splitting, struct err *err)
{
    struct orphan orphan;
    const struct slice bytes = bytes_of(&splitting->event->e2e.payload);
    if (splitting->split.n > 0)
        return ERR_OK;
    if (orphan_derive(NULL, 0, &bytes, 1, splitting->arena, &orphan, err))
        return err->kind;
    return orphan.e2e_error ? orphan_refuse(orphan.e2e_error, err) : ERR_OK;
}

static enum err_kind
add_verdict(struct splitting *splitting,
            const struct audit_identity *identity,
            struct err *err)
{
    const struct tuning_event *event = splitting->event;
    struct slice start = event->started_at;
    if (!start.data && identity)
        start = identity->started_at;
    if (check_verdict(splitting, err))
        return err->kind;
    return add(splitting, JOIN_VERDICT, start, (struct slice){NULL, 0},
               &event->e2e.payload, event->e2e.event_time_us, err);
}

/* In the arena, for the derivation that may follow. NULL: the event has no result. */
static enum err_kind
identify(const struct splitting *splitting,
         const struct audit_identity **ret_identity,
         struct err *err)
{
    const struct tuning_event *event = splitting->event;
    const struct audit_parts parts = {
        .result = bytes_of(&event->result),
        .has_event_time = true,
        .event_time_us = event->origin.captured_at_us,
        .defaults = event->defaults,
        .workspace = event->workspace,
    };
    *ret_identity = NULL;
    if (event->result.kind == PAYLOAD_NONE)
        return ERR_OK;
    struct audit_identity *identity = arena_alloc(splitting->arena, sizeof *identity);
    if (!identity)
        return audit_full(err);
    if (audit_identify(&parts, splitting->arena, identity, err))
        return err->kind;
    if (identity->dead_reason[0])
        return output_refuse(identity->dead_reason, err);
    *ret_identity = identity;
    return ERR_OK;
}

static enum err_kind
take_common(struct splitting *splitting, int64_t now_ms, struct err *err)
{
    const struct tuning_event *event = splitting->event;
    const struct message *in = splitting->in;
    struct slice sha256 = digest_of(in->value, splitting->arena);
    splitting->split.items =
        arena_calloc(splitting->arena, event->logs.n + 2, sizeof(struct join_item));
    if (!sha256.data || !splitting->split.items)
        return audit_full(err);
    splitting->common = (struct join_part){
        .workspace = event->workspace.data ? event->workspace : SLICE(""),
        .trace = event->trace,
        .origin = event->origin,
        .input = {slice_of(in->topic), in->partition, in->offset, sha256},
        .arrived_ms = now_ms,
    };
    return ERR_OK;
}

static enum err_kind
add_parts(struct splitting *splitting,
          const struct audit_identity *identity,
          struct err *err)
{
    const struct tuning_event *event = splitting->event;
    const struct log_part *logs = event->logs.items;
    if (identity && add_result(splitting, identity, err))
        return err->kind;
    for (size_t i = 0; i < event->logs.n; i++)
        if (add(splitting, JOIN_LOG, logs[i].tuner, (struct slice){NULL, 0},
                &logs[i].payload, logs[i].event_time_us, err))
            return err->kind;
    if (event->has_e2e && event->e2e.payload.kind != PAYLOAD_NONE &&
        add_verdict(splitting, identity, err))
        return err->kind;
    if (splitting->split.n == 0)
        return err_set(err, ERR_RECORD, "event_without_parts",
                       "the event has neither result nor log nor verdict");
    return ERR_OK;
}

static enum err_kind
take_input_key(struct splitting *splitting,
               const struct audit_identity *identity,
               struct err *err)
{
    const struct output_key_source source = {
        splitting->event->workspace,
        identity ? identity->envelope : NULL,
        splitting->split.items[0].bytes,
    };
    splitting->split.input_key =
        output_input_key(splitting->in->key, &source, splitting->arena);
    return splitting->split.input_key.data ? ERR_OK : audit_full(err);
}

enum err_kind
join_split(const struct tuning_event *event,
           const struct message *in,
           int64_t now_ms,
           struct arena *arena,
           struct join_split *ret_split,
           struct err *err)
{
    struct splitting splitting = {.event = event, .in = in, .arena = arena};
    const struct audit_identity *identity;
    if (identify(&splitting, &identity, err) || take_common(&splitting, now_ms, err) ||
        add_parts(&splitting, identity, err) || take_input_key(&splitting, identity, err))
        return err_at(err, "derive");
    *ret_split = splitting.split;
    return ERR_OK;
}

/* Two logs of one tuner may both be wanted, for two results: the time is in the name. */
struct slice
join_state_key(struct slice input_key, const struct join_part *part, struct arena *arena)
{
    static const char letters[] = {[JOIN_UNKNOWN] = 'h',
                                   [JOIN_RESULT] = 'r',
                                   [JOIN_LOG] = 'l',
                                   [JOIN_VERDICT] = 'v'};
    char hex[DIGEST_HEX];
    char *key = arena_alloc(arena, input_key.len + JOIN_SUFFIX_BYTES);
    struct slice name = SLICE("");
    if (part)
        name = part->name;
    if (part && part->kind == JOIN_LOG)
        name = arena_printf(arena, "%" PRId64 ":%.*s", part->event_time_us,
                            SLICE_ARG(part->name));
    if (!key || !name.data)
        return (struct slice){NULL, 0};
    digest_hex(name, hex);
    if (input_key.len)
        memcpy(key, input_key.data, input_key.len);
    char *suffix = key + input_key.len;
    suffix[0] = '#';
    suffix[1] = letters[part ? part->kind : JOIN_UNKNOWN];
    memcpy(suffix + 2, hex, JOIN_SUFFIX_BYTES - 2);
    return (struct slice){key, input_key.len + JOIN_SUFFIX_BYTES};
}
