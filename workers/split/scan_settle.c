/* SPDX-License-Identifier: Apache-2.0 */
/* What a document and the end of its container mean together. */
#include "scan_state.h"

enum { HIGH_RATIO = 200, DAMAGE_FLOOR = 16, DAMAGE_SHARE = 100 };

static const char salvage_option[] = "salvage";

static void
container_facts(const struct unpack_end *end, struct feed_facts *facts)
{
    static const char *const names[] = {
        [UNPACK_PLAIN] = "plain", [UNPACK_GZIP] = "gzip", [UNPACK_ZSTD] = "zstd"};
    if (end->in_bytes == 0 || end->kind == UNPACK_UNKNOWN)
        return;
    facts->container = names[end->kind];
    facts->gzip_members = end->members;
    facts->container_trailing_bytes = end->trailing_bytes;
    facts->bytes = end->out_bytes;
    facts->high_ratio = end->kind != UNPACK_PLAIN &&
                        end->out_bytes / HIGH_RATIO >= end->in_bytes &&
                        end->out_bytes > end->in_bytes * HIGH_RATIO;
}

static void
refuse_truncated(struct refusal *refusal, uint64_t offset, uint64_t events)
{
    refusal_set(refusal, "trace_truncated", "the trace ends before its document does");
    refusal->offset = refusal_number(offset);
    refusal->events = refusal_number(events);
    refusal->option = salvage_option;
}

/* Damage of the container, and what the document was refused for. */
static bool
settle_container(const struct scan *scan,
                 const struct unpack_end *end,
                 bool salvage,
                 struct refusal *refusal)
{
    const struct refusal *document = &scan->refusal;
    if (end->problem == UNPACK_REFUSED) {
        *refusal = end->refusal;
    } else if (end->problem == UNPACK_CORRUPT && !salvage) {
        refusal_set(refusal, "trace_corrupt", "container data or checksum error");
        refusal->offset = refusal_number(end->out_bytes);
        refusal->option = salvage_option;
    } else if (document->code && end->problem == UNPACK_TRUNCATED &&
               strcmp(document->code, "trace_corrupt") != 0) {
        refuse_truncated(refusal, 0, 0);
    } else if (document->code) {
        *refusal = *document;
    }
    return refusal->code != NULL;
}

static bool
settle_cut(const struct scan *scan,
           const struct unpack_end *end,
           bool salvage,
           struct scan_answer *answer)
{
    struct scan_facts *facts = &answer->facts;
    if (scan->is_truncated || end->problem == UNPACK_TRUNCATED) {
        if (!salvage) {
            refuse_truncated(&answer->refusal, scan->last_event_end, facts->events);
            return true;
        }
        facts->salvaged = true;
        facts->truncated_at = refusal_number(scan->last_event_end);
    }
    if (end->problem == UNPACK_CORRUPT) {
        facts->salvaged = true;
        facts->corrupt_at = refusal_number(end->out_bytes);
    }
    return false;
}

static bool
is_much_damage(const struct scan_facts *facts)
{
    uint64_t share = (facts->damaged_events + facts->events) / DAMAGE_SHARE;
    return facts->damaged_events > (share > DAMAGE_FLOOR ? share : DAMAGE_FLOOR);
}

static bool
settle_damage(const struct scan *scan, bool salvage, struct scan_answer *answer)
{
    struct scan_facts *facts = &answer->facts;
    struct refusal *refusal = &answer->refusal;
    if (is_much_damage(facts) && !salvage) {
        refusal_set(refusal, "trace_corrupt", "too many damaged events");
        refusal->damaged_events = refusal_number(facts->damaged_events);
        refusal->offset = refusal_number(facts->first_damage_offset);
        refusal->option = salvage_option;
        return true;
    }
    if (!scan->lost_at.is_set)
        return false;
    facts->events_behind_the_end = scan->lost_at;
    facts->salvaged |= salvage;
    if (salvage)
        return false;
    refusal_set(refusal, "trace_corrupt", "events behind the end of the document");
    refusal->offset = scan->lost_at;
    refusal->option = salvage_option;
    return true;
}

static void
settle_content(const struct scan *scan, struct scan_answer *answer)
{
    const struct scan_facts *facts = &answer->facts;
    if (facts->events) {
        answer->facts.is_indexed = true;
        return;
    }
    if (facts->salvaged)
        refuse_truncated(&answer->refusal, scan->last_event_end, 0);
    else if (facts->non_object_elements || facts->damaged_events)
        refusal_set(&answer->refusal, "not_a_trace", "no event object");
    else
        refusal_set(&answer->refusal, "no_events", "traceEvents is empty");
}

void
scan_settle(const struct scan *scan,
            const struct unpack_end *end,
            bool salvage,
            struct scan_answer *answer)
{
    struct scan_facts *facts = &answer->facts;
    container_facts(end, &answer->container);
    if (settle_container(scan, end, salvage, &answer->refusal)) {
        /* What was read of the document counts when it was the document's own fault. */
        if (end->problem == UNPACK_REFUSED ||
            (end->problem == UNPACK_CORRUPT && !salvage))
            *facts = (struct scan_facts){0};
        facts->damaged_bytes = facts->first_damage_offset = 0;
        return;
    }
    if (settle_cut(scan, end, salvage, answer)) {
        facts->damaged_bytes = facts->first_damage_offset = 0;
        return;
    }
    if (!settle_damage(scan, salvage, answer))
        settle_content(scan, answer);
}
