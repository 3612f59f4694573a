/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join: any order, any repeats, any splitting into events end in the same records.
 * The seed of the property test is printed; HEDDLE_SEED gives it again.
 */
#include "digest.h"
#include "join.h"
#include "serde.h"

#include "unit.h"

#include <time.h>

enum {
    MAX_STATE = 8192,
    MAX_OUTPUTS = 512,
    MAX_ATOMS = 24,
    MAX_EVENTS = 128,
    TEXT_BYTES = 256,
    ROUNDS = 400,
    EXPIRY_MS = 1000,
    RETENTION_MS = 1000000000,
};

static uint64_t seed_state;

static uint32_t
random_below(uint32_t n)
{
    seed_state =
        seed_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed_state >> 33) % n;
}

/* --- a world of one partition: state topic, output topic, clock ----------------------
 */

struct cell {
    char *key;
    size_t key_len;
    char *value;
    size_t len;
};

struct output {
    char *key;
    char *row; /* NULL: an orphan record */
    char *x;   /* NULL: a tombstone */
};

struct world {
    struct serde *serde;
    struct cell state[MAX_STATE];
    size_t n_state;
    struct output outputs[MAX_OUTPUTS];
    size_t n_outputs;
    int64_t now_ms;
    int64_t offset;
    size_t sent;     /* rows, orphan records and tombstones of the last event */
    size_t warnings; /* of the last event */
    size_t changes;
    char warning_code[TEXT_BYTES];
    struct provenance provenance; /* of the last record; in `arena` */
    struct origin origin;
    struct arena arena;
};

static char *
copy_text(struct slice text)
{
    return text.data ? strndup(text.data, text.len) : NULL;
}

static struct world *
world_new(void)
{
    struct err err = {0};
    struct world *world = calloc(1, sizeof *world);
    world->serde = serde_new(&audit_part_type, NULL, &err);
    if (!world->serde)
        fail_msg("%s", err.msg);
    return world;
}

static void
world_free(struct world *world)
{
    for (size_t i = 0; i < world->n_state; i++) {
        free(world->state[i].key);
        free(world->state[i].value);
    }
    for (size_t i = 0; i < world->n_outputs; i++) {
        free(world->outputs[i].key);
        free(world->outputs[i].row);
        free(world->outputs[i].x);
    }
    serde_free(world->serde);
    arena_done(&world->arena);
    free(world);
}

CLEANUP_DEFINE(struct world, world_free);

static const struct output *
find_output(const struct world *world, const char *key)
{
    for (size_t i = 0; i < world->n_outputs; i++)
        if (strcmp(world->outputs[i].key, key) == 0)
            return world->outputs[i].x ? &world->outputs[i] : NULL;
    return NULL;
}

static void
keep_output(struct world *world, const struct emit *emit)
{
    const struct audit_row *row = emit->value;
    struct output *to = NULL;
    for (size_t i = 0; i < world->n_outputs && !to; i++)
        if (slice_is(emit->key, world->outputs[i].key))
            to = &world->outputs[i];
    if (!to) {
        assert_true(world->n_outputs < MAX_OUTPUTS);
        to = &world->outputs[world->n_outputs++];
        to->key = copy_text(emit->key);
    }
    free(to->row);
    free(to->x);
    to->row = row ? copy_text(row->row) : NULL;
    to->x = row ? copy_text(row->x) : NULL;
    if (row) {
        world->provenance = row->provenance;
        world->origin = row->origin;
    }
}

static void
keep_state(struct world *world, const struct join_change *change)
{
    struct cell *to = NULL;
    for (size_t i = 0; i < world->n_state && !to; i++)
        if (slice_equal(change->key,
                        (struct slice){world->state[i].key, world->state[i].key_len}))
            to = &world->state[i];
    if (!to) {
        assert_true(world->n_state < MAX_STATE);
        to = &world->state[world->n_state++];
        to->key = malloc(change->key.len);
        memcpy(to->key, change->key.data, change->key.len);
        to->key_len = change->key.len;
    }
    free(to->value);
    to->value = NULL;
    to->len = 0;
    if (!change->value)
        return;
    CLEANUP(buf_done) struct buf buf = BUF_INIT;
    struct err err = {0};
    if (serde_encode(world->serde, change->value, &buf, &err))
        fail_msg("%s: %s", err.code, err.msg);
    to->value = buf_take(&buf, &to->len);
}

static bool
is_of(const struct cell *cell, struct slice input_key)
{
    return cell->value && cell->key_len == input_key.len + JOIN_SUFFIX_BYTES &&
           memcmp(cell->key, input_key.data, input_key.len) == 0;
}

static void
load_state(struct world *world, struct join *join)
{
    struct err err = {0};
    for (size_t i = 0; i < world->n_state; i++) {
        const struct cell *cell = &world->state[i];
        struct audit_part *known = arena_calloc(join->arena, 1, sizeof *known);
        if (!is_of(cell, join->input_key))
            continue;
        /* The bytes must outlive the record, as in the store. */
        struct slice value =
            arena_copy(join->arena, (struct slice){cell->value, cell->len});
        if (serde_decode(world->serde, value, join->arena, known, &err) ||
            join_load(join, known, &err))
            fail_msg("%s: %s", err.code, err.msg);
    }
}

static void
keep_emits(struct world *world, const struct emits *out)
{
    world->sent = 0;
    world->warnings = 0;
    for (size_t i = 0; i < out->n; i++) {
        const struct emit *emit = &out->items[i];
        if (strcmp(emit->topic, OUTPUT_TOPIC) == 0) {
            keep_output(world, emit);
            world->sent++;
        } else {
            const struct warning *warning = emit->value;
            snprintf(world->warning_code, TEXT_BYTES, "%.*s", SLICE_ARG(warning->code));
            world->warnings++;
        }
    }
}

/* `keep`: how many of the state's changes are not lost, as when the process dies. */
static void
finish(struct world *world, struct join *join, struct emits *out, size_t keep)
{
    static const struct provenance base = {.worker = {"audit", 5}};
    const struct join_times times = {world->now_ms, EXPIRY_MS, RETENTION_MS};
    struct err err = {0};
    if (join_plan(join, &times, &err) || join_emit(join, &base, out, &err))
        fail_msg("%s: %s", err.code, err.msg);
    keep_emits(world, out);
    world->changes = join->n_changes;
    size_t n = join->n_changes;
    size_t first = keep < n ? random_below((uint32_t)n) : 0;
    for (size_t i = 0; i < n && i < keep; i++)
        keep_state(world, &join->changes[(first + i) % n]);
}

static enum err_kind
send_partly(struct world *world,
            const struct tuning_event *event,
            const char *key,
            int64_t offset,
            size_t keep,
            struct err *err)
{
    arena_reset(&world->arena);
    char value[32];
    snprintf(value, sizeof value, "event %d", (int)offset);
    const struct message in = {
        .topic = "heddle.tunings",
        .offset = offset,
        .key = slice_of(key),
        .value = arena_copy(&world->arena, slice_of(value)),
    };
    struct tuning_event complete = *event;
    complete.origin.event_id = complete.origin.node = SLICE("");
    complete.origin.session = complete.origin.producer = SLICE("");
    struct emits out = {.arena = &world->arena};
    struct join_split split;
    struct join join;
    if (join_split(&complete, &in, world->now_ms, &world->arena, &split, err))
        return err->kind;
    join_init(&join, &world->arena, split.input_key);
    load_state(world, &join);
    for (size_t i = 0; i < split.n; i++)
        assert_int_equal(join_add(&join, &split.items[i], err), ERR_OK);
    finish(world, &join, &out, keep);
    return ERR_OK;
}

static void
send_event(struct world *world, const struct tuning_event *event)
{
    struct err err = {0};
    if (send_partly(world, event, "K", world->offset++, SIZE_MAX, &err))
        fail_msg("%s: %s", err.code, err.msg);
}

static void
tick(struct world *world, const char *key)
{
    struct join join;
    arena_reset(&world->arena);
    struct emits out = {.arena = &world->arena};
    join_init(&join, &world->arena, slice_of(key));
    load_state(world, &join);
    if (join.has_head && join.head.due_ms <= world->now_ms)
        finish(world, &join, &out, SIZE_MAX);
}

/* --- events ---------------------------------------------------------------------------
 */

static struct payload
inline_of(const char *text)
{
    return (struct payload){.kind = PAYLOAD_INLINE, .bytes = slice_of(text)};
}

static const char attempt_a[] =
    "{\"attempt_id\": \"A\", \"started_at\": \"S1\", \"status\": \"ok\", "
    "\"tuners_run\": [{\"tuner\": \"t0\", \"status\": \"no_improvement\"}]}";
static const char refusing_log[] =
    "# Command: python3 tuner.py --libtype hip\n# Exit code: 0\n\n"
    "tuner.py: error: unrecognized arguments: --libtype hip\n";
static const char keeping_verdict[] =
    "{\"e2e_results\": {\"kept\": [{\"tuner\": \"t0\"}]}}";

static struct tuning_event
result_event(const char *text, int64_t time_us)
{
    return (struct tuning_event){.origin.captured_at_us = time_us,
                                 .result = inline_of(text)};
}

static struct tuning_event
log_event_of(struct log_part *part, const char *tuner, const char *text, int64_t time_us)
{
    *part = (struct log_part){slice_of(tuner), inline_of(text), time_us};
    return (struct tuning_event){.logs = {part, 1}};
}

static struct tuning_event
verdict_event(const char *text, const char *started_at, int64_t time_us)
{
    return (struct tuning_event){.started_at = slice_of(started_at),
                                 .has_e2e = true,
                                 .e2e = {inline_of(text), time_us}};
}

/* --- single rules ---------------------------------------------------------------------
 */

static void
sends_the_row_again_when_its_log_arrives(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event result = result_event(attempt_a, 1000);
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);

    send_event(world, &result);
    assert_non_null(strstr(find_output(world, "A")->x, "no_evidence"));
    send_event(world, &log);

    assert_int_equal(world->sent, 1);
    assert_non_null(strstr(find_output(world, "A")->x, "rejected_arguments"));
    assert_int_equal(world->provenance.inputs.n, 2);
    const struct input_ref *inputs = world->provenance.inputs.items;
    assert_true(slice_compare(inputs[0].sha256, inputs[1].sha256) < 0);
}

static void
sends_nothing_for_a_part_that_changes_nothing(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct tuning_event result = result_event(attempt_a, 1000);
    send_event(world, &result);

    send_event(world, &result);

    assert_int_equal(world->sent, 0);
    assert_int_equal(world->changes, 0);
}

static void
lets_a_log_wait_and_shows_it_once_it_expires(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    send_event(world, &log);
    assert_int_equal(world->sent, 0);

    world->now_ms = EXPIRY_MS - 1;
    tick(world, "K");
    assert_null(find_output(world, "orphan:K"));
    world->now_ms = EXPIRY_MS;
    tick(world, "K");

    assert_null(find_output(world, "orphan:K")->row);
    assert_non_null(
        strstr(find_output(world, "orphan:K")->x, "\"orphan_logs\": {\"t0\""));
    assert_int_equal(world->origin.captured_at_us, 900);
    assert_string_equal(world->warning_code, "orphan_log");
}

static void
withdraws_the_orphan_record_when_the_result_arrives(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    struct tuning_event result = result_event(attempt_a, 1000);
    send_event(world, &log);
    world->now_ms = EXPIRY_MS;
    tick(world, "K");
    assert_non_null(find_output(world, "orphan:K"));

    send_event(world, &result);

    assert_null(find_output(world, "orphan:K"));
    assert_int_equal(world->sent, 2);
    assert_non_null(strstr(find_output(world, "A")->x, "rejected_arguments"));
}

static void
sends_no_tombstone_where_no_orphan_record_was(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    struct tuning_event result = result_event(attempt_a, 1000);
    send_event(world, &log);

    send_event(world, &result);

    assert_int_equal(world->sent, 1);
    assert_int_equal(world->n_outputs, 1);
}

static void
gives_a_verdict_to_the_result_of_its_start(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct tuning_event result = result_event(attempt_a, 1000);
    struct tuning_event foreign = verdict_event(keeping_verdict, "S2", 2000);
    struct tuning_event own = verdict_event(keeping_verdict, "S1", 2000);
    send_event(world, &result);

    send_event(world, &foreign);
    assert_int_equal(world->sent, 0);
    send_event(world, &own);

    assert_non_null(strstr(find_output(world, "A")->row, "\"kept\": true"));
    world->now_ms = EXPIRY_MS;
    tick(world, "K");
    assert_non_null(strstr(find_output(world, "orphan:K")->x, "orphan_e2e"));
}

static void
takes_the_start_of_the_result_in_the_same_event(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct tuning_event both = result_event(attempt_a, 1000);
    both.has_e2e = true;
    both.e2e = (struct e2e_part){inline_of(keeping_verdict), 2000};

    send_event(world, &both);

    assert_non_null(strstr(find_output(world, "A")->row, "\"kept\": true"));
}

static void
brings_back_a_log_when_a_result_parts_two(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    static const char attempt_b[] =
        "{\"attempt_id\": \"B\", \"tuners_run\": [{\"tuner\": \"t0\", \"status\": "
        "\"no_improvement\"}]}";
    struct log_part early;
    struct log_part late;
    struct tuning_event first = log_event_of(&early, "t0", refusing_log, 100);
    struct tuning_event second = log_event_of(&late, "t0", "# Exit code: 0\n", 300);
    struct tuning_event newer = result_event(attempt_a, 400);
    struct tuning_event older = result_event(attempt_b, 200);
    send_event(world, &newer);
    send_event(world, &second);
    send_event(world, &first);
    assert_int_equal(world->sent, 0);

    send_event(world, &older);

    assert_non_null(strstr(find_output(world, "B")->x, "rejected_arguments"));
    assert_null(strstr(find_output(world, "A")->x, "rejected_arguments"));
}

static void
keeps_the_row_of_a_result_with_an_invalid_verdict(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct tuning_event both = result_event(attempt_a, 1000);
    struct tuning_event alone = verdict_event("[1]", "S1", 2000);
    struct err err = {0};
    both.has_e2e = true;
    both.e2e = (struct e2e_part){inline_of("[1]"), 2000};

    send_event(world, &both);
    assert_non_null(strstr(find_output(world, "A")->x, "e2e_invalid:array"));
    assert_int_equal(send_partly(world, &alone, "K", 9, SIZE_MAX, &err), ERR_RECORD);

    assert_string_equal(err.code, "e2e_invalid");
}

static void
sends_a_warning_once(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part stray;
    struct log_part part;
    struct tuning_event result = result_event(attempt_a, 1000);
    struct tuning_event orphan = log_event_of(&stray, "none", "# Exit code: 0\n", 900);
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    send_event(world, &result);

    send_event(world, &orphan);
    assert_int_equal(world->warnings, 1);
    assert_string_equal(world->warning_code, "orphan_log");
    send_event(world, &log);

    assert_int_equal(world->sent, 1);
    assert_int_equal(world->warnings, 0);
}

static void
names_every_verdict_that_waits(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct tuning_event first = verdict_event(keeping_verdict, "S1", 1000);
    struct tuning_event second = verdict_event("{\"e2e_results\": {}}", "S2", 2000);
    char hex[DIGEST_HEX];
    send_event(world, &first);
    send_event(world, &second);
    world->now_ms = EXPIRY_MS;

    tick(world, "K");

    digest_hex(slice_of(keeping_verdict), hex);
    hex[AUDIT_SRC_DIGITS] = '\0';
    const char *x = find_output(world, "orphan:K")->x;
    assert_non_null(strstr(x, "\"e2e_others\": ["));
    assert_non_null(strstr(x, hex));
    assert_non_null(strstr(x, "orphan_e2e:t0"));
}

static size_t
live_state(const struct world *world)
{
    size_t n = 0;
    for (size_t i = 0; i < world->n_state; i++)
        n += world->state[i].value != NULL;
    return n;
}

static void
forgets_everything_after_the_retention(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event result = result_event(attempt_a, 1000);
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    send_event(world, &result);
    assert_int_equal(live_state(world), 1);

    world->now_ms = RETENTION_MS;
    tick(world, "K");

    assert_int_equal(live_state(world), 0);
    assert_int_equal(world->sent, 0);
    send_event(world, &log);
    world->now_ms += EXPIRY_MS;
    tick(world, "K");
    assert_non_null(find_output(world, "orphan:K"));
    assert_non_null(find_output(world, "A"));
}

static struct cell *
cell_of_head(struct world *world)
{
    for (size_t i = 0; i < world->n_state; i++)
        if (world->state[i].value && world->state[i].key[2] == 'h') /* "K#h..." */
            return &world->state[i];
    fail_msg("no head is kept");
    return NULL;
}

static bool
head_has_part(struct world *world)
{
    const struct cell *cell = cell_of_head(world);
    struct audit_part head = {0};
    struct err err = {0};
    if (serde_decode(world->serde, (struct slice){cell->value, cell->len}, &world->arena,
                     &head, &err))
        fail_msg("%s: %s", err.code, err.msg);
    return head.has_part;
}

static void
keeps_a_part_that_is_alone_in_the_record_of_the_head(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event result = result_event(attempt_a, 1000);
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    struct tuning_event verdict = verdict_event(keeping_verdict, "S1", 1);

    send_event(world, &result);
    assert_int_equal(live_state(world), 1);
    assert_true(head_has_part(world));
    send_event(world, &log);
    assert_int_equal(live_state(world), 3);
    assert_true(head_has_part(world)); /* its own record may be lost */
    send_event(world, &verdict);
    assert_int_equal(live_state(world), 4);
    assert_false(head_has_part(world));

    world->now_ms = RETENTION_MS;
    tick(world, "K");
    assert_int_equal(live_state(world), 0);
}

/* Parts and head in records of their own, as they were written before. */
static void
part_head_from_part(struct world *world)
{
    struct cell *cell = cell_of_head(world);
    struct audit_part both = {0};
    struct err err = {0};
    arena_reset(&world->arena);
    struct slice value =
        arena_copy(&world->arena, (struct slice){cell->value, cell->len});
    if (serde_decode(world->serde, value, &world->arena, &both, &err))
        fail_msg("%s: %s", err.code, err.msg);
    struct audit_part head = both;
    struct audit_part part = both;
    head.has_part = part.has_head = false;
    const struct join_change changes[] = {
        {join_state_key(SLICE("K"), NULL, &world->arena), &head},
        {join_state_key(SLICE("K"), &both.part, &world->arena), &part}};
    keep_state(world, &changes[0]);
    keep_state(world, &changes[1]);
}

static void
goes_on_from_a_part_beside_its_head(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    struct log_part part;
    struct tuning_event result = result_event(attempt_a, 1000);
    struct tuning_event newer = result_event(attempt_a, 2000);
    struct tuning_event log = log_event_of(&part, "t0", refusing_log, 900);
    send_event(world, &result);
    part_head_from_part(world);
    assert_int_equal(live_state(world), 2);

    send_event(world, &result);
    assert_int_equal(world->sent, 0);
    send_event(world, &newer);
    assert_int_equal(live_state(world), 2);
    assert_false(head_has_part(world));
    send_event(world, &log);
    assert_non_null(strstr(find_output(world, "A")->x, "rejected_arguments"));
    assert_int_equal(live_state(world), 3);

    world->now_ms = RETENTION_MS;
    tick(world, "K");
    assert_int_equal(live_state(world), 0);
}

static void
keeps_a_bounded_number_of_parts_and_says_so(void **state)
{
    (void)state;
    CLEANUP(world_freep) struct world *world = world_new();
    static struct log_part logs[JOIN_MAX_LOGS + 1];
    for (size_t i = 0; i <= JOIN_MAX_LOGS; i++)
        logs[i] =
            (struct log_part){SLICE("t0"), inline_of("# Exit code: 0\n"), (int64_t)i};
    struct tuning_event many = {.logs = {logs, JOIN_MAX_LOGS + 1}};

    send_event(world, &many);

    assert_int_equal(live_state(world), JOIN_MAX_LOGS + 1);
    assert_int_equal(world->warnings, 1);
    assert_string_equal(world->warning_code, "join_full");
}

static void
keeps_a_part_that_is_too_large_as_its_claim(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    static char large[4 << 20];
    memset(large, ' ', sizeof large);
    struct log_part part = {SLICE("t0"),
                            {PAYLOAD_INLINE,
                             {large, sizeof large},
                             {SLICE("file:///x"), sizeof large, SLICE("00")}},
                            1};
    struct tuning_event event = {.logs = {&part, 1}};
    const struct message in = {
        .topic = "heddle.tunings", .key = SLICE("K"), .value = SLICE("v")};
    struct join_split split;
    struct err err = {0};

    assert_int_equal(join_split(&event, &in, 0, &arena, &split, &err), ERR_OK);

    assert_int_equal(split.items[0].part.payload.kind, PAYLOAD_CLAIM);
    assert_int_equal(split.items[0].bytes.len, sizeof large);
    part.payload.bytes.len = 100;
    assert_int_equal(join_split(&event, &in, 0, &arena, &split, &err), ERR_OK);
    assert_int_equal(split.items[0].part.payload.kind, PAYLOAD_INLINE);
}

static void
asks_for_the_bytes_that_it_needs_and_has_not(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    const struct join_times times = {0, EXPIRY_MS, RETENTION_MS};
    struct audit_part known = {
        .input_key = SLICE("K"),
        .has_part = true,
        .part = {.kind = JOIN_LOG,
                 .name = SLICE("t0"),
                 .sha256 = SLICE("00"),
                 .payload = {PAYLOAD_CLAIM, {0}, {SLICE("file:///x"), 3, SLICE("00")}}},
    };
    struct tuning_event result = result_event(attempt_a, 1000);
    const struct message in = {
        .topic = "heddle.tunings", .key = SLICE("K"), .value = SLICE("v")};
    struct join_split split;
    struct join join;
    struct err err = {0};
    size_t position = 0;
    assert_int_equal(join_split(&result, &in, 0, &arena, &split, &err), ERR_OK);
    join_init(&join, &arena, split.input_key);
    assert_int_equal(join_load(&join, &known, &err), ERR_OK);
    assert_int_equal(join_add(&join, &split.items[0], &err), ERR_OK);

    assert_int_equal(join_plan(&join, &times, &err), ERR_OK);

    struct join_item *missing = join_missing(&join, &position);
    assert_non_null(missing);
    assert_true(slice_is(missing->part.payload.claim.uri, "file:///x"));
    missing->bytes = SLICE("log");
    assert_null(join_missing(&join, &position));
}

/* --- any order, any repeats, any splitting --------------------------------------------
 */

/* The smallest thing that an event may carry: one part; an invalid verdict with a log. */
struct atom {
    bool has_result;
    char result[TEXT_BYTES];
    int64_t result_us;
    bool has_log;
    char tuner[8];
    char log[TEXT_BYTES];
    int64_t log_us;
    bool has_verdict;
    char verdict[TEXT_BYTES];
    int64_t verdict_us;
    char start[8];
};

static void
make_result(struct atom *atom)
{
    static const char *const ids[] = {"A", "B", "C", "D"};
    uint32_t start = random_below(3);
    char started[32] = "";
    if (start)
        snprintf(started, sizeof started, "\"started_at\": \"S%d\", ", (int)start);
    atom->has_result = true;
    atom->result_us = (int64_t)random_below(6) * 100;
    snprintf(atom->result, TEXT_BYTES,
             "{\"attempt_id\": \"%s\", %s\"tag\": %d, \"tuners_run\": [{\"tuner\": "
             "\"t0\", \"status\": \"no_improvement\"}, {\"name\": \"t1\"}]}",
             ids[random_below(4)], started, (int)random_below(3));
}

static void
make_log(struct atom *atom)
{
    atom->has_log = true;
    atom->log_us = random_below(8) * 100 - 50 * random_below(2);
    snprintf(atom->tuner, sizeof atom->tuner, "t%d", (int)random_below(3));
    snprintf(atom->log, TEXT_BYTES, "# Elapsed: %d.0s\n%s", (int)random_below(4),
             random_below(2) ? "" : "# TIMEOUT after 1s\n");
}

static void
make_verdict(struct atom *atom)
{
    static const char *const verdicts[] = {
        "{\"e2e_results\": {\"kept\": [{\"tuner\": \"t0\"}]}}",
        "{\"e2e_results\": {\"reverted\": [{\"tuner\": \"t0\"}, {\"tuner\": \"t9\"}]}}",
        "{\"status\": \"complete\"}",
        "[3]",
        "{",
    };
    uint32_t which = random_below(5);
    uint32_t start = random_below(4);
    atom->has_verdict = true;
    atom->verdict_us = (int64_t)random_below(3) * 100;
    snprintf(atom->verdict, TEXT_BYTES, "%s", verdicts[which]);
    if (start)
        snprintf(atom->start, sizeof atom->start, "S%d", (int)start);
    if (which >= 3)
        make_log(atom); /* alone it would be a dead letter */
}

static size_t
make_atoms(struct atom *atoms)
{
    size_t n = 1 + random_below(MAX_ATOMS - 1);
    uint32_t results = random_below(4); /* 0: none at all */
    memset(atoms, 0, n * sizeof *atoms);
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = random_below(10);
        if (kind < results)
            make_result(&atoms[i]);
        else if (kind < 7)
            make_log(&atoms[i]);
        else
            make_verdict(&atoms[i]);
    }
    return n;
}

/* An event of one or several atoms. A null start in an event with a result would mean the
 * result's, so there "" says that the verdict has none. */
struct bundle {
    struct tuning_event event;
    struct log_part logs[MAX_ATOMS];
};

static bool
fits(const struct bundle *bundle, const struct atom *atom)
{
    return !(atom->has_result && bundle->event.result.kind) &&
           !(atom->has_verdict && bundle->event.has_e2e) &&
           bundle->event.logs.n < MAX_ATOMS;
}

static void
put_atom(struct bundle *bundle, const struct atom *atom)
{
    struct tuning_event *event = &bundle->event;
    if (atom->has_result) {
        event->result = inline_of(atom->result);
        event->origin.captured_at_us = atom->result_us;
    }
    if (atom->has_log)
        bundle->logs[event->logs.n++] =
            (struct log_part){slice_of(atom->tuner), inline_of(atom->log), atom->log_us};
    if (atom->has_verdict) {
        event->has_e2e = true;
        event->e2e = (struct e2e_part){inline_of(atom->verdict), atom->verdict_us};
        event->started_at = slice_of(atom->start);
    }
    event->logs.items = bundle->logs;
}

static void
shuffle(size_t *order, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = random_below((uint32_t)i);
        size_t swap = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swap;
    }
}

/* Every atom at least once, in any order, some twice, some together. */
static size_t
make_events(const struct atom *atoms, size_t n, struct bundle *bundles)
{
    size_t order[2 * MAX_ATOMS];
    size_t n_order = n;
    size_t n_bundles = 0;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = 0; i < n; i++)
        if (random_below(4) == 0)
            order[n_order++] = i;
    shuffle(order, n_order);
    for (size_t i = 0; i < n_order; i++) {
        const struct atom *atom = &atoms[order[i]];
        struct bundle *last = n_bundles ? &bundles[n_bundles - 1] : NULL;
        if (!last || random_below(2) || !fits(last, atom)) {
            last = &bundles[n_bundles++];
            memset(last, 0, sizeof *last);
        }
        put_atom(last, atom);
    }
    return n_bundles;
}

static void
play(struct world *world, const struct bundle *bundles, size_t n)
{
    struct err err = {0};
    for (size_t i = 0; i < n; i++) {
        world->now_ms += random_below(EXPIRY_MS / 2);
        bool dies = random_below(8) == 0;
        size_t keep = dies ? random_below(4) : SIZE_MAX;
        if (send_partly(world, &bundles[i].event, "K", (int64_t)i, keep, &err))
            fail_msg("%s: %s", err.code, err.msg);
        if (random_below(4) == 0)
            tick(world, "K");
        if (dies) /* what was not committed is read again */
            i -= random_below((uint32_t)(i < 3 ? i : 3) + 1) + 1;
    }
    world->now_ms += INT64_C(2) * EXPIRY_MS;
    tick(world, "K");
}

/* --- the rule again, as events.md 4 words it, over all atoms at once -------------------
 */

static int
compare_text(int64_t a_us, const char *a, int64_t b_us, const char *b)
{
    char x[DIGEST_HEX];
    char y[DIGEST_HEX];
    digest_hex(slice_of(a), x);
    digest_hex(slice_of(b), y);
    if (a_us != b_us)
        return a_us < b_us ? -1 : 1;
    return strcmp(x, y);
}

static struct slice
member_of(const struct atom *atom, const char *name)
{
    const char *at = strstr(atom->result, name);
    if (!at)
        return SLICE("");
    at += strlen(name) + 4; /* `": "` */
    return (struct slice){at, strcspn(at, "\"")};
}

static bool
result_stands(const struct atom *atoms, size_t n, const struct atom *atom)
{
    for (size_t i = 0; i < n; i++)
        if (atoms[i].has_result &&
            slice_equal(member_of(&atoms[i], "attempt_id"),
                        member_of(atom, "attempt_id")) &&
            compare_text(atoms[i].result_us, atoms[i].result, atom->result_us,
                         atom->result) > 0)
            return false;
    return true;
}

/* The result that a log belongs to; NULL: none is there. */
static const struct atom *
owner_of(const struct atom *atoms, size_t n, const struct atom *log)
{
    const struct atom *earliest = NULL;
    const struct atom *latest = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct atom *r = &atoms[i];
        if (!r->has_result || !result_stands(atoms, n, r))
            continue;
        if (r->result_us >= log->log_us &&
            (!earliest || compare_text(r->result_us, r->result, earliest->result_us,
                                       earliest->result) < 0))
            earliest = r;
        if (!latest || r->result_us > latest->result_us ||
            (r->result_us == latest->result_us &&
             compare_text(0, r->result, 0, latest->result) < 0))
            latest = r;
    }
    return earliest ? earliest : latest;
}

static bool
has_result_of_start(const struct atom *atoms, size_t n, const char *start)
{
    for (size_t i = 0; i < n; i++)
        if (atoms[i].has_result && result_stands(atoms, n, &atoms[i]) &&
            slice_is(member_of(&atoms[i], "started_at"), start))
            return true;
    return false;
}

static void
check_row(const struct world *world,
          const struct atom *atoms,
          size_t n,
          const struct atom *r)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct audit_log logs[MAX_ATOMS];
    size_t n_logs = 0;
    const struct atom *verdict = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct atom *a = &atoms[i];
        const struct atom *owner = a->has_log ? owner_of(atoms, n, a) : NULL;
        if (owner &&
            compare_text(owner->result_us, owner->result, r->result_us, r->result) == 0)
            logs[n_logs++] =
                (struct audit_log){slice_of(a->tuner), slice_of(a->log), a->log_us};
        if (a->has_verdict && slice_is(member_of(r, "started_at"), a->start) &&
            (!verdict || compare_text(a->verdict_us, a->verdict, verdict->verdict_us,
                                      verdict->verdict) > 0))
            verdict = a;
    }
    const struct audit_parts parts = {
        .result = slice_of(r->result),
        .has_event_time = true,
        .event_time_us = r->result_us,
        .logs = logs,
        .n_logs = n_logs,
        .e2e = slice_of(verdict ? verdict->verdict : NULL),
    };
    struct audit_answer answer;
    struct err err = {0};
    if (audit_row_derive(&parts, &arena, &answer, &err))
        fail_msg("%s", err.msg);
    const struct output *output =
        find_output(world, arena_copy(&arena, answer.run_key).data);
    assert_non_null(output);
    assert_string_equal(output->row, answer.row.data);
    assert_string_equal(output->x, answer.x.data);
}

/* Of the verdicts of each start the greatest, and of these the greatest first. */
static size_t
waiting_verdicts(const struct atom *atoms, size_t n, const struct atom **ret)
{
    size_t n_ret = 0;
    for (size_t i = 0; i < n; i++) {
        const struct atom *a = &atoms[i];
        if (!a->has_verdict || has_result_of_start(atoms, n, a->start))
            continue;
        size_t k = 0;
        while (k < n_ret && strcmp(ret[k]->start, a->start) != 0)
            k++;
        if (k == n_ret)
            ret[n_ret++] = a;
        else if (compare_text(a->verdict_us, a->verdict, ret[k]->verdict_us,
                              ret[k]->verdict) > 0)
            ret[k] = a;
    }
    for (size_t i = 0; i < n_ret; i++)
        for (size_t k = i + 1; k < n_ret; k++) {
            int d = compare_text(ret[k]->verdict_us, ret[k]->verdict, ret[i]->verdict_us,
                                 ret[i]->verdict);
            if (d > 0 || (d == 0 && strcmp(ret[k]->start, ret[i]->start) > 0)) {
                const struct atom *swap = ret[i];
                ret[i] = ret[k];
                ret[k] = swap;
            }
        }
    return n_ret;
}

static void
check_orphan(const struct world *world, const struct atom *atoms, size_t n)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf x = BUF_INIT;
    struct audit_log logs[MAX_ATOMS];
    size_t n_logs = 0;
    const struct atom *waiting[MAX_ATOMS];
    struct slice verdicts[MAX_ATOMS];
    size_t n_verdicts = waiting_verdicts(atoms, n, waiting);
    for (size_t i = 0; i < n_verdicts; i++)
        verdicts[i] = slice_of(waiting[i]->verdict);
    for (size_t i = 0; i < n; i++)
        if (atoms[i].has_log && !owner_of(atoms, n, &atoms[i]))
            logs[n_logs++] = (struct audit_log){slice_of(atoms[i].tuner),
                                                slice_of(atoms[i].log), atoms[i].log_us};
    const struct output *output = find_output(world, "orphan:K");
    if (n_logs == 0 && n_verdicts == 0) {
        assert_null(output);
        return;
    }
    struct orphan orphan;
    struct err err = {0};
    if (orphan_derive(logs, n_logs, verdicts, n_verdicts, &arena, &orphan, &err))
        fail_msg("%s", err.msg);
    orphan_write_x(&orphan, &x);
    assert_non_null(output);
    assert_null(output->row);
    assert_string_equal(output->x, buf_text(&x));
}

static void
ends_in_the_same_records_whatever_the_order(void **state)
{
    (void)state;
    static struct atom atoms[MAX_ATOMS];
    static struct bundle bundles[MAX_EVENTS];
    const char *given = getenv("HEDDLE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("HEDDLE_SEED=%llu\n", (unsigned long long)seed);
    seed_state = seed;
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = make_atoms(atoms);
        for (int order = 0; order < 4; order++) {
            CLEANUP(world_freep) struct world *world = world_new();
            size_t n_rows = 0;
            play(world, bundles, make_events(atoms, n, bundles));
            for (size_t i = 0; i < n; i++)
                if (atoms[i].has_result && result_stands(atoms, n, &atoms[i]))
                    check_row(world, atoms, n, &atoms[i]);
            check_orphan(world, atoms, n);
            for (size_t i = 0; i < world->n_outputs; i++)
                n_rows += world->outputs[i].row != NULL;
            assert_true(n_rows <= 4);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_the_row_again_when_its_log_arrives),
        cmocka_unit_test(sends_nothing_for_a_part_that_changes_nothing),
        cmocka_unit_test(lets_a_log_wait_and_shows_it_once_it_expires),
        cmocka_unit_test(withdraws_the_orphan_record_when_the_result_arrives),
        cmocka_unit_test(sends_no_tombstone_where_no_orphan_record_was),
        cmocka_unit_test(gives_a_verdict_to_the_result_of_its_start),
        cmocka_unit_test(takes_the_start_of_the_result_in_the_same_event),
        cmocka_unit_test(brings_back_a_log_when_a_result_parts_two),
        cmocka_unit_test(keeps_the_row_of_a_result_with_an_invalid_verdict),
        cmocka_unit_test(sends_a_warning_once),
        cmocka_unit_test(names_every_verdict_that_waits),
        cmocka_unit_test(forgets_everything_after_the_retention),
        cmocka_unit_test(keeps_a_part_that_is_alone_in_the_record_of_the_head),
        cmocka_unit_test(goes_on_from_a_part_beside_its_head),
        cmocka_unit_test(keeps_a_bounded_number_of_parts_and_says_so),
        cmocka_unit_test(keeps_a_part_that_is_too_large_as_its_claim),
        cmocka_unit_test(asks_for_the_bytes_that_it_needs_and_has_not),
        cmocka_unit_test(ends_in_the_same_records_whatever_the_order),
    };
    return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
