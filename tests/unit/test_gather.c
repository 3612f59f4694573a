/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a tuning event that were sent as claims: what is fetched, what is noted.
 */
#include "gather.h"

#include "unit.h"

#include "canned_http.h"
#include "digest.h"

#include <unistd.h>

/* A folder with one file, and an event of three parts that claim it. */
struct place {
    char root[64];
    char file[96];
    char uri[128];
    char sha256[DIGEST_HEX];
    const char *roots[1];
    struct claim_limits limits;
    struct arena arena;
    struct log_part logs[2];
    struct tuning_event event;
};

static struct payload
claim_of(const struct place *place)
{
    return (struct payload){
        .kind = PAYLOAD_CLAIM,
        .claim = {slice_of(place->uri), 5, slice_of(place->sha256)},
    };
}

static int
set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->root, "/tmp/heddle-gather-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->file, sizeof place->file, "%s/part", place->root);
    snprintf(place->uri, sizeof place->uri, "file://%s", place->file);
    FILE *file = fopen(place->file, "w");
    assert_non_null(file);
    fputs("hello", file);
    assert_int_equal(fclose(file), 0);
    digest_hex(SLICE("hello"), place->sha256);
    place->roots[0] = place->root;
    place->limits = (struct claim_limits){.roots = {place->roots, 1},
                                          .max_bytes = 100,
                                          .malformed = "tuning_event_malformed"};
    place->event.logs = (struct list){place->logs, 2};
    place->logs[0].tuner = SLICE("a8w8");
    place->logs[1].tuner = SLICE("fmoe_ck");
    for (size_t i = 0; i < 2; i++)
        place->logs[i].payload = (struct payload){
            .kind = PAYLOAD_INLINE,
            .bytes = SLICE("inline"),
        };
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    unlink(place->file);
    rmdir(place->root);
    arena_done(&place->arena);
    free(place);
    return 0;
}

static enum err_kind
gather(struct place *place, struct list *ret_facts, struct err *err)
{
    return audit_gather(&place->limits, &place->event, &place->arena, ret_facts, err);
}

static void
assert_fetched(const struct payload *payload)
{
    assert_int_equal(payload->kind, PAYLOAD_INLINE);
    assert_true(slice_is(payload->bytes, "hello"));
}

static void
fetches_every_claim_and_names_them_in_order(void **state)
{
    struct place *place = *state;
    static const char *const subjects[] = {"result", "log:fmoe_ck", "e2e"};
    struct list facts;
    struct err err;
    place->event.result = claim_of(place);
    place->logs[1].payload = claim_of(place);
    place->event.has_e2e = true;
    place->event.e2e.payload = claim_of(place);

    assert_int_equal(gather(place, &facts, &err), ERR_OK);

    assert_fetched(&place->event.result);
    assert_fetched(&place->logs[1].payload);
    assert_fetched(&place->event.e2e.payload);
    assert_true(slice_is(place->logs[0].payload.bytes, "inline"));
    assert_int_equal(facts.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct fact *fact = (const struct fact *)facts.items + i;
        assert_true(slice_is(fact->subject, subjects[i]));
        assert_true(slice_is(fact->outcome, "fetched"));
        assert_true(slice_is(fact->sha256, place->sha256));
    }
}

static void
leaves_inline_parts_and_missing_ones_alone(void **state)
{
    struct place *place = *state;
    struct list facts;
    struct err err;
    place->event.e2e.payload = claim_of(place); /* has_e2e is false: not a part */

    assert_int_equal(gather(place, &facts, &err), ERR_OK);

    assert_int_equal(facts.n, 0);
    assert_int_equal(place->event.result.kind, PAYLOAD_NONE);
    assert_int_equal(place->event.e2e.payload.kind, PAYLOAD_CLAIM);
}

static void
says_which_part_could_not_be_fetched(void **state)
{
    struct place *place = *state;
    struct list facts;
    struct err err;
    place->event.result = claim_of(place);
    place->logs[0].payload = claim_of(place);
    place->logs[0].payload.claim.size = 4;

    assert_int_equal(gather(place, &facts, &err), ERR_RECORD);

    assert_string_equal(err.code, "claim_mismatch");
    assert_non_null(strstr(err.msg, "log:a8w8"));
    assert_int_equal(place->logs[0].payload.kind, PAYLOAD_CLAIM);
}

static void
waits_for_a_file_that_is_not_there_yet(void **state)
{
    struct place *place = *state;
    struct list facts;
    struct err err;
    place->event.result = claim_of(place);
    unlink(place->file);

    assert_int_equal(gather(place, &facts, &err), ERR_RETRY);

    assert_string_equal(err.code, "claim_not_found");
}

static void
refuses_an_event_with_more_parts_than_memory(void **state)
{
    struct place *place = *state;
    struct list facts;
    struct err err;
    arena_init(&place->arena, 16);

    assert_int_equal(gather(place, &facts, &err), ERR_FATAL);

    assert_string_equal(err.code, "out_of_memory");
}

static void
fetches_what_a_server_has(void **state)
{
    struct place *place = *state;
    struct list facts;
    struct err err;
    const struct canned_answer answer = {.status = 200, .body = "hello"};
    const struct remote_settings remote = {.connect_timeout_ms = 60000};
    struct canned_http *server = canned_http_start(NULL);
    canned_http_answer(server, &answer, 1);
    snprintf(place->uri, sizeof place->uri, "%s/result.json", canned_http_url(server));
    place->limits.remote = &remote;
    place->event.result = claim_of(place);

    assert_int_equal(gather(place, &facts, &err), ERR_OK);

    assert_fetched(&place->event.result);
    assert_int_equal(facts.n, 1);
    canned_http_stop(server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fetches_every_claim_and_names_them_in_order,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_inline_parts_and_missing_ones_alone,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_which_part_could_not_be_fetched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(waits_for_a_file_that_is_not_there_yet, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(refuses_an_event_with_more_parts_than_memory,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(fetches_what_a_server_has, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
