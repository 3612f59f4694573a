/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate as a real worker over the embedded broker: what it sends is what the pure
 * function gives and what the vectors say, a refusal that can be healed comes back as an
 * event of attempt 2, and neither a kill nor a second reading of the topic changes it.
 */
#include "broker.h"
#include "candidate_table.h"
#include "gate_rig.h"
#include "run_heddle.h"
#include "topics.h"
#include "trace_event.h"
#include "warning.h"

#include "unit.h"

enum {
    MAX_VERDICTS = 400,
    LONG_NAMES = 2400,
    NAME_BYTES = 4000,
    TEXT_BYTES = 128,
};

static const char group[] = "heddle-gate";
static const char *const at_least_once[] = {"--delivery", "at-least-once", NULL};

static struct broker broker;
static struct gate_rig rig;

static int
open_rig(void **state)
{
    (void)state;
    if (!broker_start(&broker, 0, NULL))
        return -1;
    gate_rig_open(&rig, broker.bootstrap, 100);
    return 0;
}

static int
close_rig(void **state)
{
    (void)state;
    gate_rig_done(&rig);
    broker_stop(&broker);
    return 0;
}

static void
start_worker(struct process *worker)
{
    gate_rig_start(&rig, worker, group, "a", at_least_once);
}

/* --- reading what came out ---------------------------------------------------------- */

/* The records of an output topic, decoded. */
struct output {
    struct arena arena;
    struct serde *serde;
    size_t size;
    char *items; /* of the topic's struct, `size` each */
    struct slice keys[MAX_VERDICTS];
    size_t n;
};

static void
read_output(struct output *output, const char *topic, const struct record_type *type)
{
    struct kafka_settings settings = gate_rig_settings(&rig);
    struct err err = {0};
    bool done = false;
    *output = (struct output){.arena = ARENA_INIT, .size = type->size};
    output->items = arena_calloc(&output->arena, MAX_VERDICTS, type->size);
    output->serde = serde_new(type, NULL, &err);
    struct topic_reader *reader =
        topic_reader_new(&settings, topic, TOPIC_FROM_START, GATE_RIG_TIMEOUT_MS, &err);
    assert_non_null(output->items);
    assert_non_null(output->serde);
    assert_non_null(reader);
    while (!done) {
        const struct message *in = topic_reader_next(reader, 50, &done, &err);
        assert_int_equal(err.kind, ERR_OK);
        if (!in)
            continue;
        assert_true(output->n < MAX_VERDICTS);
        struct slice value = arena_copy(&output->arena, in->value);
        output->keys[output->n] = arena_copy(&output->arena, in->key);
        if (serde_decode(output->serde, value, &output->arena,
                         output->items + type->size * output->n++, &err))
            fail_msg("%s", err.msg);
    }
    topic_reader_free(reader);
}

static void
output_done(struct output *output)
{
    serde_free(output->serde);
    arena_done(&output->arena);
}

static const struct verdict *
verdict_of(const struct output *output, struct slice request_id)
{
    const struct verdict *verdicts = (const void *)output->items;
    for (size_t i = 0; i < output->n; i++)
        if (slice_equal(verdicts[i].request.request_id, request_id))
            return &verdicts[i];
    return NULL;
}

/* --- against the vectors ------------------------------------------------------------ */

static bool
same_text(struct slice text, struct json_value expected)
{
    struct slice wanted = json_string(expected);
    return (text.data == NULL) == (wanted.data == NULL) && slice_equal(text, wanted);
}

static bool
same_number(bool known, double number, struct json_value expected)
{
    double wanted = 0;
    if (!json_double(expected, &wanted))
        return !known;
    return known && fabs(number - wanted) <= 1e-9;
}

static bool
same_codes(const struct list *warnings, struct json_value expected)
{
    const struct verdict_warning *own = warnings->items;
    struct json_iter iter = json_iter(expected);
    struct slice key;
    struct json_value item;
    size_t n = 0;
    for (; json_next(&iter, &key, &item); n++)
        if (n >= warnings->n || !same_text(own[n].code, json_get(item, "code")))
            return false;
    return n == warnings->n;
}

static void
assert_as_expected(const struct verdict *verdict, struct json_value expect)
{
    struct json_value retry = json_get(expect, "retry");
    bool accepted = slice_is(json_string(json_get(expect, "verdict")), "accepted");
    assert_int_equal(verdict->verdict,
                     accepted ? VERDICT_KIND_ACCEPTED : VERDICT_KIND_REFUSED);
    assert_true(same_text(verdict->verdict_class, json_get(expect, "class")));
    assert_true(same_text(verdict->requested_mode, json_get(expect, "requested_mode")));
    assert_true(same_text(verdict->accepted_chunk, json_get(expect, "accepted_chunk")));
    assert_true(same_number(verdict->has_busy_ratio, verdict->busy_ratio,
                            json_get(expect, "busy_ratio")));
    assert_true(same_number(true, verdict->threshold, json_get(expect, "threshold")));
    assert_true(same_codes(&verdict->warnings, json_get(expect, "warnings")));
    assert_int_equal(verdict->suppress_candidates,
                     json_is_true(json_get(expect, "suppress_candidates")));
    assert_int_equal(verdict->retry_exhausted,
                     json_is_true(json_get(expect, "retry_exhausted")));
    assert_int_equal(verdict->has_retry, json_kind(retry) == JSON_OBJECT);
    if (verdict->has_retry)
        assert_true(
            same_text(verdict->retry.requested_mode, json_get(retry, "requested_mode")));
}

static void
assert_vectors(const struct gate_samples *samples)
{
    struct output verdicts;
    size_t judged = 0;
    read_output(&verdicts, TOPIC_AUDIT_SPLITS, &verdict_type);
    for (size_t i = 0; i < samples->n; i++) {
        const struct gate_sample *sample = &samples->items[i];
        const struct verdict *verdict =
            verdict_of(&verdicts, sample->record.request.request_id);
        bool dead = json_string(json_get(sample->expect, "dead_letter")).data;
        if (json_kind(sample->expect) != JSON_OBJECT)
            continue;
        assert_int_equal(dead, verdict == NULL);
        judged++;
        if (verdict)
            assert_as_expected(verdict, sample->expect);
    }
    assert_true(judged >= 50);
    output_done(&verdicts);
}

/* --- tests -------------------------------------------------------------------------- */

static void
sends_what_the_function_gives_and_the_vectors_say(void **state)
{
    (void)state;
    struct gate_samples samples;
    struct gate_lines expected;
    struct gate_lines seen;
    struct process worker;
    gate_samples_read(&samples, 0);
    start_worker(&worker);

    gate_rig_send_samples(&rig, &samples);

    gate_rig_wait_drained(&rig, group);
    gate_rig_stop(&worker);
    gate_rig_expect(&rig, &expected);
    gate_rig_read(&rig, &seen);
    assert_true(expected.n > samples.n);
    gate_lines_compare(&expected, &seen, 1);
    assert_vectors(&samples);
    gate_lines_done(&expected);
    gate_lines_done(&seen);
    gate_samples_done(&samples);
}

/* The splitter's part of a retry: the same split, for the request of the event. */
static void
split_again(const struct output *events, const struct split_record *first)
{
    const struct trace_event *event = (const void *)events->items;
    struct split_record again = *first;
    again.request = event->request;
    again.origin = event->origin;
    gate_rig_send(&rig, &again);
}

static void
assert_event(const struct output *events, const struct split_record *first)
{
    const struct trace_event *event = (const void *)events->items;
    assert_int_equal(events->n, 1);
    assert_true(slice_equal(events->keys[0], first->request.request_id));
    assert_int_equal(event->payload.kind, PAYLOAD_CLAIM);
    assert_true(slice_equal(event->payload.claim.uri, first->trace.uri));
    assert_true(slice_equal(event->payload.claim.sha256, first->trace.sha256));
    assert_int_equal(event->request.attempt, 2);
    assert_true(slice_is(event->request.requested_mode, "prefilldecode"));
    assert_true(slice_is(event->request.from_mode, "mixed"));
    assert_true(slice_equal(event->request.retry_of, first->request.request_id));
    assert_int_equal(event->split.num_steps, first->split.num_steps);
    assert_true(slice_is(event->origin.producer, "heddle-gate"));
    assert_false(slice_equal(event->origin.event_id, first->origin.event_id));
    assert_true(slice_equal(event->origin.node, first->origin.node));
}

static void
heals_an_empty_chunk_by_a_second_attempt_of_another_mode(void **state)
{
    (void)state;
    struct gate_samples samples;
    struct output events;
    struct output verdicts;
    struct output tables;
    struct process worker;
    gate_samples_read(&samples, 0);
    const struct split_record *first = &samples.items[0].record;
    start_worker(&worker);
    gate_rig_send(&rig, first);
    gate_rig_wait_drained(&rig, group);
    read_output(&events, TOPIC_TRACES, &trace_event_type);
    assert_event(&events, first);

    split_again(&events, first);

    gate_rig_wait_drained(&rig, group);
    read_output(&verdicts, TOPIC_AUDIT_SPLITS, &verdict_type);
    read_output(&tables, TOPIC_CANDIDATES, &candidate_table_type);
    const struct verdict *refused = verdict_of(&verdicts, first->request.request_id);
    const struct trace_event *event = (const void *)events.items;
    const struct verdict *healed = verdict_of(&verdicts, event->request.request_id);
    assert_non_null(refused);
    assert_non_null(healed);
    assert_int_equal(refused->verdict, VERDICT_KIND_REFUSED);
    assert_true(slice_is(refused->verdict_class, "structural_empty"));
    assert_true(refused->has_selfcert);
    assert_int_equal(healed->verdict, VERDICT_KIND_ACCEPTED);
    assert_true(healed->has_auto_retry);
    assert_true(slice_is(healed->auto_retry.to_mode, "prefilldecode"));
    assert_false(healed->has_selfcert);
    assert_int_equal(tables.n, 1);
    assert_true(slice_equal(tables.keys[0], first->request.request_id));
    gate_rig_stop(&worker);
    output_done(&events);
    output_done(&verdicts);
    output_done(&tables);
    gate_samples_done(&samples);
}

static void
gives_the_same_records_when_the_topic_is_read_again(void **state)
{
    (void)state;
    struct gate_samples samples;
    struct gate_lines expected;
    struct gate_lines seen;
    struct process worker;
    gate_samples_read(&samples, 0);
    gate_rig_send_samples(&rig, &samples);
    start_worker(&worker);
    gate_rig_wait_drained(&rig, group);
    gate_rig_stop(&worker);

    gate_rig_start(&rig, &worker, "again", "b", at_least_once);

    gate_rig_wait_drained(&rig, "again");
    gate_rig_stop(&worker);
    gate_rig_expect(&rig, &expected);
    gate_rig_read(&rig, &seen);
    gate_lines_compare(&expected, &seen, 2);
    gate_lines_done(&expected);
    gate_lines_done(&seen);
    gate_samples_done(&samples);
}

static size_t
count_tapped(const char *topic)
{
    struct process tap;
    int status = heddle_run(&tap, NULL,
                            WORDS("tap", "--brokers", broker.bootstrap, "--from", "start",
                                  "--until-end", topic));
    size_t n = 0;
    for (const char *at = tap.text; (at = strstr(at, "{\"topic\": ")) != NULL; at++)
        n++;
    if (status != 0)
        fail_msg("%s: status %d: %.500s", topic, status, tap.text);
    process_close(&tap);
    return n;
}

static void
is_shown_by_tap_topic_by_topic(void **state)
{
    (void)state;
    struct gate_samples samples;
    struct process worker;
    gate_samples_read(&samples, 0);
    const struct split_record *healed = &samples.items[1].record;
    gate_rig_send(&rig, &samples.items[0].record);
    gate_rig_send(&rig, healed);
    start_worker(&worker);
    gate_rig_wait_drained(&rig, group);
    gate_rig_stop(&worker);

    assert_int_equal(count_tapped(TOPIC_SPLITS), 2);
    assert_int_equal(count_tapped(TOPIC_AUDIT_SPLITS), 2);
    assert_int_equal(count_tapped(TOPIC_CANDIDATES), 1);
    assert_int_equal(count_tapped(TOPIC_TRACES), 1);
    assert_true(count_tapped(TOPIC_WARNINGS) >= 1);
    gate_samples_done(&samples);
}

static void
wait_for_verdicts(size_t n)
{
    long long deadline = process_now_ms() + GATE_RIG_TIMEOUT_MS;
    size_t seen = 0;
    while (seen < n) {
        struct output verdicts;
        read_output(&verdicts, TOPIC_AUDIT_SPLITS, &verdict_type);
        seen = verdicts.n;
        output_done(&verdicts);
        assert_true(process_now_ms() < deadline);
    }
}

/* The embedded broker knows no transactions: a record may come twice, none is lost. */
static void
loses_and_changes_nothing_when_it_is_killed(void **state)
{
    (void)state;
    struct gate_samples samples;
    struct gate_lines expected;
    struct gate_lines seen;
    struct process worker;
    start_worker(&worker);

    for (int round = 0; round < 3; round++) {
        gate_samples_read(&samples, round);
        gate_rig_send_samples(&rig, &samples);
        wait_for_verdicts((size_t)round * 40 + 1);
        gate_rig_kill(&worker);
        start_worker(&worker);
        gate_samples_done(&samples);
    }

    gate_rig_wait_drained(&rig, group);
    gate_rig_stop(&worker);
    gate_rig_expect(&rig, &expected);
    gate_rig_read(&rig, &seen);
    gate_lines_unique(&seen);
    gate_lines_compare(&expected, &seen, 1);
    gate_lines_done(&expected);
    gate_lines_done(&seen);
}

static void
lengthen(struct split_record *record, struct arena *arena)
{
    struct split_chunk *chunk = record->chunks.items;
    struct kernel_row *rows = arena_calloc(arena, LONG_NAMES, sizeof rows[0]);
    assert_non_null(rows);
    for (int i = 0; i < LONG_NAMES; i++) {
        char *name = arena_alloc(arena, NAME_BYTES);
        assert_non_null(name);
        memset(name, 'k', NAME_BYTES);
        snprintf(name, TEXT_BYTES, "%d", i);
        rows[i] = (struct kernel_row){
            .name = {name, NAME_BYTES}, .calls = 1, .total_ns = LONG_NAMES - i};
    }
    chunk->kernels = (struct list){rows, LONG_NAMES};
    chunk->num_gpu_events = LONG_NAMES;
    chunk->busy_ratio = 1;
    chunk->gpu_busy_duration_ns = chunk->gpu_duration_ns;
}

static void
tells_of_a_table_that_is_too_large_and_lets_the_verdict_stand(void **state)
{
    (void)state;
    static const char *const all_rows[] = {"--delivery", "at-least-once", "--max-rows",
                                           "0", NULL};
    struct gate_samples samples;
    struct output verdicts;
    struct output tables;
    struct output warnings;
    struct process worker;
    gate_samples_read(&samples, 0);
    struct split_record *record = &samples.items[0].record;
    lengthen(record, &samples.arena);
    gate_rig_start(&rig, &worker, group, "a", all_rows);

    gate_rig_send(&rig, record);

    gate_rig_wait_drained(&rig, group);
    gate_rig_stop(&worker);
    read_output(&verdicts, TOPIC_AUDIT_SPLITS, &verdict_type);
    read_output(&tables, TOPIC_CANDIDATES, &candidate_table_type);
    read_output(&warnings, TOPIC_WARNINGS, &warning_type);
    const struct verdict *verdict = (const void *)verdicts.items;
    const struct warning *warning = (const void *)warnings.items;
    assert_int_equal(verdicts.n, 1);
    assert_int_equal(verdict->verdict, VERDICT_KIND_ACCEPTED);
    assert_int_equal(tables.n, 0);
    size_t told = 0;
    while (told < warnings.n && (!slice_is(warning[told].code, "output_failed") ||
                                 warning[told].severity != SEVERITY_ERROR))
        told++;
    assert_true(told < warnings.n);
    assert_true(slice_equal(warning[told].subject, record->request.request_id));
    output_done(&verdicts);
    output_done(&tables);
    output_done(&warnings);
    gate_samples_done(&samples);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sends_what_the_function_gives_and_the_vectors_say,
                                        open_rig, close_rig),
        cmocka_unit_test_setup_teardown(
            heals_an_empty_chunk_by_a_second_attempt_of_another_mode, open_rig,
            close_rig),
        cmocka_unit_test_setup_teardown(
            gives_the_same_records_when_the_topic_is_read_again, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(is_shown_by_tap_topic_by_topic, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(loses_and_changes_nothing_when_it_is_killed,
                                        open_rig, close_rig),
        cmocka_unit_test_setup_teardown(
            tells_of_a_table_that_is_too_large_and_lets_the_verdict_stand, open_rig,
            close_rig),
    };
    return cmocka_run_group_tests_name("gate_worker", tests, NULL, NULL);
}
