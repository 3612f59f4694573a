/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims in a real worker: its settings of servers, keys from files, and that no secret
 * is shown. heddle-audit without a broker.
 */
#include "canned_http.h"
#include "cleanup.h"
#include "codec.h"
#include "digest.h"
#include "process.h"
#include "sigv4.h"
#include "temp_dir.h"
#include "tuning_event.h"

#include "unit.h"

enum { TIMEOUT_MS = 60000 };

static const char secret[] = "wJalrXUtnFEMI-hidden";

/* A server, a file with the secret, and a file with one event. */
struct place {
    struct temp_dir dir;
    struct canned_http *server;
    char *input;
    char secret_variable[512];
};

static int
set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    assert_true(temp_dir_make(&place->dir));
    assert_true(temp_write(&place->dir, "secret", secret, 0));
    place->server = canned_http_start(NULL);
    place->input = temp_path(&place->dir, "events");
    snprintf(place->secret_variable, sizeof place->secret_variable,
             "HEDDLE_S3_SECRET_KEY_FILE=%s/secret", place->dir.path);
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    canned_http_stop(place->server);
    temp_dir_done(&place->dir);
    free(place->input);
    free(place);
    return 0;
}

/* An event whose result is claimed at `uri`. */
static void
write_event(const struct place *place, const char *uri, const char *result)
{
    char sha256[DIGEST_HEX];
    struct err err;
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    struct codec *codec = codec_new(&tuning_event_type, NULL, &err);
    digest_hex(slice_of(result), sha256);
    const struct tuning_event event = {
        .origin = {SLICE("id"), SLICE("node"), SLICE("session"), 1000, SLICE("test")},
        .workspace = SLICE(""),
        .result = {.kind = PAYLOAD_CLAIM,
                   .claim = {slice_of(uri), (int64_t)strlen(result), slice_of(sha256)}},
    };
    assert_non_null(codec);
    assert_int_equal(codec_to_json(codec, &event, &line, &err), ERR_OK);
    codec_free(codec);
    buf_add_byte(&line, '\n');
    assert_true(temp_write(&place->dir, "events", buf_text(&line), 0));
}

static void
run_audit(const struct place *place, struct process *process, int status)
{
    const char *argv[] = {BIN_DIR "/heddle-audit",
                          "--dry-run",
                          "--input",
                          place->input,
                          "--s3-endpoint",
                          canned_http_url(place->server),
                          "--s3-access-key",
                          "AKIA",
                          "--claim-connect-timeout",
                          "30s",
                          NULL};
    const char *environment[] = {place->secret_variable, "HEDDLE_CONFIG=/dev/null", NULL};
    assert_true(process_start(process, argv, environment));
    int got = process_wait(process, TIMEOUT_MS);
    if (got != status)
        fail_msg("exit status %d, not %d:\n%s", got, status, process->text);
    assert_null(strstr(process->text, secret));
}

static const char *
header_of(void *state, const char *name)
{
    return canned_http_last_header(state, name);
}

static void
audits_a_result_behind_http(void **state)
{
    struct place *place = *state;
    struct process process;
    char uri[256];
    const struct canned_answer answer = {.status = 200,
                                         .body = "{\"attempt_id\": \"a7\"}"};
    canned_http_answer(place->server, &answer, 1);
    snprintf(uri, sizeof uri, "%s/result.json", canned_http_url(place->server));
    write_event(place, uri, answer.body);

    run_audit(place, &process, 0);

    assert_non_null(strstr(process.text, "heddle.audit.tunings"));
    assert_non_null(strstr(process.text, "a7"));
    process_close(&process);
}

static void
signs_with_the_key_of_a_file(void **state)
{
    struct place *place = *state;
    struct process process;
    const struct canned_answer answer = {.status = 200,
                                         .body = "{\"attempt_id\": \"a8\"}"};
    canned_http_answer(place->server, &answer, 1);
    write_event(place, "s3://bucket/runs/result.json", answer.body);

    run_audit(place, &process, 0);

    const struct sigv4_request request = {
        .line = canned_http_last_line(place->server),
        .authorization = canned_http_last_header(place->server, "Authorization"),
        .header = header_of,
        .state = place->server,
    };
    assert_string_equal(request.line, "GET /bucket/runs/result.json");
    assert_true(sigv4_is_right(&request, secret));
    process_close(&process);
}

static void
makes_a_dead_letter_of_what_it_may_not_read(void **state)
{
    struct place *place = *state;
    struct process process;
    const struct canned_answer answer = {.status = 403};
    canned_http_answer(place->server, &answer, 1);
    write_event(place, "s3://bucket/result.json", "{}");

    run_audit(place, &process, 1);

    assert_non_null(strstr(process.text, "claim_denied"));
    assert_non_null(strstr(process.text, "gather"));
    process_close(&process);
}

static void
shows_no_secret_and_wants_both_halves_of_a_key(void **state)
{
    struct place *place = *state;
    struct process process;
    const char *check[] = {BIN_DIR "/heddle-audit", "--check", NULL};
    const char *environment[] = {place->secret_variable, "HEDDLE_CONFIG=/dev/null", NULL};
    assert_true(process_start(&process, check, environment));
    assert_int_equal(process_wait(&process, TIMEOUT_MS), 0);
    assert_non_null(strstr(process.text, "s3.secret_key = ***"));
    assert_null(strstr(process.text, secret));
    process_close(&process);

    const char *half[] = {BIN_DIR "/heddle-audit", "--dry-run", "--input", "/dev/null",
                          NULL};
    assert_true(process_start(&process, half, environment));
    assert_int_equal(process_wait(&process, TIMEOUT_MS), 78);
    assert_non_null(strstr(process.text, "access_key"));
    assert_null(strstr(process.text, secret));
    process_close(&process);
}

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(audits_a_result_behind_http),
        PLACE_TEST(signs_with_the_key_of_a_file),
        PLACE_TEST(makes_a_dead_letter_of_what_it_may_not_read),
        PLACE_TEST(shows_no_secret_and_wants_both_halves_of_a_key),
    };
    return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
