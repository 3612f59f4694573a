/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a trace event whose trace is claimed: each row of splitting.md 13.1
 * against files and a scripted server, and a file that changes between the passes.
 */
#include "claim_stream.h"
#include "split_worker.h"

#include "unit.h"

#include "canned_http.h"
#include "digest.h"
#include "split_record.h"
#include "temp_dir.h"
#include "topics.h"
#include "trace_gen.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

/* A splitter with its store, a folder that may be read, a server, and a good trace. */
struct place {
    struct temp_dir dir;
    struct canned_http *server;
    struct remote_settings remote;
    struct provenance provenance;
    const char *roots[1];
    void *splitter;
    struct serde *events;
    struct arena arena;
    struct emits out;
    struct split_task task;
    struct err err;
    char *trace; /* terminated */
    char sha256[DIGEST_HEX];
    char uri[512];
};

static enum err_kind
keep_first(void *state, const struct trace_file *file, struct err *err)
{
    struct place *place = state;
    (void)err;
    if (!place->trace && file->story)
        place->trace = strndup(file->content.data, file->content.len);
    return ERR_OK;
}

static void
make_folder(const struct place *place, const char *name)
{
    char *path = temp_path(&place->dir, name);
    assert_int_equal(mkdir(path, 0755), 0);
    free(path);
}

static void
open_splitter(struct place *place)
{
    static char store[512];
    snprintf(store, sizeof store, "file://%s/store", place->dir.path);
    split_worker_settings = (struct split_worker_settings){
        .split = {.max_spool_bytes = INT64_C(1) << 30,
                  .max_bytes = INT64_C(1) << 40,
                  .max_ratio = 1100,
                  .max_event_bytes = 64 << 20,
                  .max_strings = 1 << 30,
                  .zstd_window_log = 23},
        .store = store,
        .jobs = 1,
    };
    const struct worker_context context = {
        .provenance = &place->provenance,
        .claim_roots = {place->roots, 1},
        .remote = &place->remote,
    };
    assert_int_equal(split_worker_open(&context, &place->splitter, &place->err), ERR_OK);
}

static int
set_up(void **state)
{
    size_t n;
    struct place *place = calloc(1, sizeof *place);
    assert_true(temp_dir_make(&place->dir));
    make_folder(place, "store");
    make_folder(place, "traces");
    make_folder(place, "elsewhere");
    place->roots[0] = temp_path(&place->dir, "traces");
    place->provenance = (struct provenance){
        .worker = SLICE("split"), .version = SLICE("1"), .config_sha256 = SLICE("x")};
    place->server = canned_http_start(NULL);
    place->remote = (struct remote_settings){
        .connect_timeout_ms = PATIENCE_MS,
        .stall_timeout_ms = PATIENCE_MS,
        .s3 = {.endpoint = canned_http_url(place->server), .region = "us-east-1"},
    };
    open_splitter(place);
    place->events = serde_new(&trace_event_type, NULL, &place->err);
    assert_int_equal(trace_generate(keep_first, place, &n, &place->err), ERR_OK);
    assert_non_null(place->trace);
    digest_hex(slice_of(place->trace), place->sha256);
    snprintf(place->uri, sizeof place->uri, "%s/a.json", canned_http_url(place->server));
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    split_worker_close(place->splitter);
    serde_free(place->events);
    canned_http_stop(place->server);
    temp_dir_done(&place->dir);
    arena_done(&place->arena);
    free((char *)(uintptr_t)place->roots[0]);
    free(place->trace);
    free(place);
    return 0;
}

/* --- one event ---------------------------------------------------------------------- */

/* One attempt; what it gives is in `place->out`. */
static enum err_kind
attempt(struct place *place, const struct payload *payload)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    const struct trace_event event = {
        .origin = {.event_id = SLICE("e"),
                   .node = SLICE("n"),
                   .session = SLICE(""),
                   .producer = SLICE("test")},
        .payload = *payload,
        .request = {.request_id = SLICE("r1"), .framework = SLICE("vllm"), .attempt = 1},
    };
    arena_done(&place->arena);
    place->err = (struct err){0};
    place->out = (struct emits){.arena = &place->arena};
    assert_int_equal(serde_encode(place->events, &event, &value, &place->err), ERR_OK);
    const struct message in = {
        .topic = TOPIC_TRACES,
        .value = arena_copy(&place->arena, buf_slice(&value)),
    };
    if (split_event_read(place->splitter, &in, &place->arena, &place->task, &place->err))
        return place->err.kind;
    return split_event_run(place->splitter, &place->task, &in, NULL, &place->out,
                           &place->err);
}

static enum err_kind
attempt_claim(struct place *place, const char *uri, int64_t size, const char *sha256)
{
    const struct payload payload = {
        .kind = PAYLOAD_CLAIM,
        .claim = {slice_of(uri), size, slice_of(sha256)},
    };
    return attempt(place, &payload);
}

static enum err_kind
attempt_trace(struct place *place, const char *uri)
{
    return attempt_claim(place, uri, (int64_t)strlen(place->trace), place->sha256);
}

static const struct split_record *
record_of(const struct place *place)
{
    for (size_t i = 0; i < place->out.n; i++)
        if (strcmp(place->out.items[i].topic, TOPIC_SPLITS) == 0)
            return place->out.items[i].value;
    fail_msg("no split record");
    return NULL;
}

static const struct split_record *
assert_refused(const struct place *place, const char *code)
{
    const struct split_record *record = record_of(place);
    assert_int_equal(record->result, SPLIT_RESULT_REFUSED);
    if (!slice_is(record->refusal.code, code))
        fail_msg("%.*s, not %s", SLICE_ARG(record->refusal.code), code);
    assert_true(record->manifest.aborted);
    assert_int_equal(record->manifest.input.n, 0);
    assert_int_equal(record->chunks.n, 0);
    assert_true(slice_equal(record->trace.uri, place->task.event.payload.claim.uri));
    assert_int_equal(record->provenance.facts.n, 1);
    const struct fact *fact = record->provenance.facts.items;
    assert_true(slice_is(fact->outcome, "failed"));
    assert_true(slice_is(fact->code, code));
    return record;
}

static void
assert_dead(const struct place *place, const char *code)
{
    assert_int_equal(place->err.kind, ERR_RECORD);
    assert_string_equal(place->err.code, code);
    assert_int_equal(place->out.n, 0);
}

/* Passing trouble, and what it is once the attempts are used up. */
static const struct split_record *
assert_retried(struct place *place, const char *code)
{
    const struct message in = {.topic = TOPIC_TRACES, .value = SLICE("x")};
    struct err why = place->err;
    assert_int_equal(why.kind, ERR_RETRY);
    assert_int_equal(place->out.n, 0);
    assert_int_equal(split_event_give_up(place->splitter, &place->task, &in, &why,
                                         &place->out, &place->err),
                     ERR_OK);
    return assert_refused(place, code);
}

static void
assert_split(const struct place *place)
{
    const struct split_record *record = record_of(place);
    if (record->result != SPLIT_RESULT_SPLIT)
        fail_msg("refused: %.*s", SLICE_ARG(record->refusal.code));
    assert_true(record->chunks.n > 0);
    const struct fact *fact = record->provenance.facts.items;
    assert_true(slice_is(fact->outcome, "fetched"));
    assert_true(slice_is(fact->sha256, place->sha256));
}

/* Objects in the store's chunks, drafts counted, too. */
static int
count_chunks(const struct place *place)
{
    char command[512];
    char text[16] = "";
    snprintf(command, sizeof command, "ls -A %s/store/chunks 2>/dev/null | wc -l",
             place->dir.path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(text, sizeof text, pipe));
    pclose(pipe);
    return atoi(text);
}

/* --- servers ------------------------------------------------------------------------ */

static void
answer(struct place *place, unsigned status, const char *body)
{
    static struct canned_answer row;
    row = (struct canned_answer){.status = status, .body = body};
    canned_http_answer(place->server, &row, 1);
}

/* By http and by s3. */
static const char *
remote_uri(const struct place *place, int i)
{
    return i == 0 ? place->uri : "s3://bucket/a.json";
}

static void
splits_what_a_server_has(void **state)
{
    struct place *place = *state;
    answer(place, 200, place->trace);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(attempt_trace(place, remote_uri(place, i)), ERR_OK);
        assert_split(place);
    }
    assert_int_equal(canned_http_requests(place->server), 2);
}

static void
gives_up_on_what_is_not_there(void **state)
{
    static const unsigned statuses[] = {404, 410};
    struct place *place = *state;
    for (int i = 0; i < 4; i++) {
        answer(place, statuses[i / 2], "<Error><Code>NoSuchKey</Code></Error>");
        attempt_trace(place, remote_uri(place, i % 2));
        assert_retried(place, "claim_not_found");
    }
}

static void
refuses_what_it_may_not_read(void **state)
{
    static const unsigned statuses[] = {401, 403};
    struct place *place = *state;
    for (int i = 0; i < 4; i++) {
        answer(place, statuses[i / 2], "");
        assert_int_equal(attempt_trace(place, remote_uri(place, i % 2)), ERR_OK);
        assert_refused(place, "claim_denied");
    }
}

static void
gives_up_on_a_server_in_trouble(void **state)
{
    static const unsigned statuses[] = {500, 503, 429, 418};
    struct place *place = *state;
    for (int i = 0; i < 8; i++) {
        answer(place, statuses[i / 2], "");
        attempt_trace(place, remote_uri(place, i % 2));
        const struct split_record *record = assert_retried(place, "claim_unavailable");
        assert_non_null(
            memmem(record->refusal.reason.data, record->refusal.reason.len, "HTTP ", 5));
    }
}

static void
gives_up_on_a_transfer_that_does_not_end_well(void **state)
{
    struct place *place = *state;
    const struct canned_answer cut = {
        .status = 200, .body = place->trace, .cut_after = 100};
    const struct canned_answer slow = {
        .status = 200, .body = place->trace, .delay_ms = 3000};
    canned_http_answer(place->server, &cut, 1);
    attempt_trace(place, place->uri);
    assert_retried(place, "claim_unavailable");

    place->remote.stall_timeout_ms = 1000;
    canned_http_answer(place->server, &slow, 1);
    attempt_trace(place, place->uri);
    assert_retried(place, "claim_unavailable");

    canned_http_refuse(place->server);
    attempt_trace(place, canned_http_url(place->server));
    assert_retried(place, "claim_unavailable");
}

static void
refuses_another_size_or_digest_with_both(void **state)
{
    struct place *place = *state;
    char sha256[DIGEST_HEX];
    digest_hex(SLICE("no trace at all"), sha256);
    for (int i = 0; i < 3; i++) {
        char *path = temp_path(&place->dir, "traces/a.json");
        char file_uri[512];
        snprintf(file_uri, sizeof file_uri, "file://%s", path);
        assert_true(temp_write(&place->dir, "traces/a.json", "no trace at all", 10));
        answer(place, 200, "no trace at all");

        const char *uri = i < 2 ? remote_uri(place, i) : file_uri;
        assert_int_equal(attempt_trace(place, uri), ERR_OK);
        const struct split_refusal *refusal =
            &assert_refused(place, "claim_mismatch")->refusal;
        assert_true(refusal->has_expected_size && refusal->has_size);
        assert_int_equal(refusal->expected_size, strlen(place->trace));
        assert_int_equal(refusal->size, 15);
        assert_true(slice_is(refusal->expected_sha256, place->sha256));
        assert_true(slice_is(refusal->sha256, sha256));

        /* The size fits and the digest does not; that it is no trace counts less. */
        assert_int_equal(attempt_claim(place, uri, 15, place->sha256), ERR_OK);
        refusal = &assert_refused(place, "claim_mismatch")->refusal;
        assert_int_equal(refusal->size, 15);
        assert_true(slice_is(refusal->sha256, sha256));
        free(path);
    }
    assert_int_equal(count_chunks(place), 0);
}

static void
refuses_to_spool_more_than_it_may(void **state)
{
    struct place *place = *state;
    assert_int_equal(
        attempt_claim(place, place->uri, (INT64_C(1) << 30) + 1, place->sha256), ERR_OK);
    const struct split_record *record = assert_refused(place, "trace_too_large");
    assert_true(slice_is(record->refusal.limit, "max_spool_bytes"));
    assert_int_equal(canned_http_requests(place->server), 0);
}

/* --- files -------------------------------------------------------------------------- */

static const char *
file_uri(const struct place *place, const char *name)
{
    static char uri[512];
    snprintf(uri, sizeof uri, "file://%s/%s", place->dir.path, name);
    return uri;
}

static void
splits_a_file_below_its_roots(void **state)
{
    struct place *place = *state;
    assert_true(temp_write(&place->dir, "traces/a.json", place->trace, 10));
    assert_int_equal(attempt_trace(place, file_uri(place, "traces/a.json")), ERR_OK);
    assert_split(place);
    assert_true(count_chunks(place) > 0);
}

static void
gives_up_on_a_file_that_does_not_come(void **state)
{
    struct place *place = *state;
    attempt_trace(place, file_uri(place, "traces/absent.json"));
    assert_retried(place, "claim_not_found");
}

static void
refuses_a_file_that_is_closed_to_it(void **state)
{
    struct place *place = *state;
    assert_true(temp_write(&place->dir, "traces/closed.json", place->trace, 10));
    char *path = temp_path(&place->dir, "traces/closed.json");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(place->dir.path, 0755), 0);
    bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    enum err_kind kind = attempt_trace(place, file_uri(place, "traces/closed.json"));
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(kind, ERR_OK);
    assert_refused(place, "claim_denied");
    free(path);
}

static void
makes_a_dead_letter_of_what_can_be_no_claim(void **state)
{
    static const char *const uris[] = {"ftp://host/a.json", "/tmp/a.json", "s3://bucket",
                                       "http://", ""};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        attempt_trace(place, uris[i]);
        assert_dead(place, "trace_event_malformed");
    }
    attempt_claim(place, place->uri, -1, place->sha256);
    assert_dead(place, "trace_event_malformed");
    attempt(place, &(struct payload){.kind = PAYLOAD_NONE});
    assert_dead(place, "trace_event_malformed");
}

static void
makes_a_dead_letter_of_a_file_outside_its_roots(void **state)
{
    struct place *place = *state;
    char *link = temp_path(&place->dir, "traces/link.json");
    char *target = temp_path(&place->dir, "elsewhere/a.json");
    assert_true(temp_write(&place->dir, "elsewhere/a.json", place->trace, 10));
    assert_int_equal(symlink(target, link), 0);
    static const char *const names[] = {"elsewhere/a.json", "traces/../elsewhere/a.json",
                                        "traces/link.json", "elsewhere/absent.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        attempt_trace(place, file_uri(place, names[i]));
        assert_dead(place, "trace_event_malformed");
    }
    free(link);
    free(target);
}

/* --- changes between the passes ----------------------------------------------------- */

/* Done to the file when a pass begins that is not the first. */
static void (*before_second_pass)(const struct place *place);
static const struct place *changed_place;
static int passes;

enum err_kind __real_claim_stream_rewind(void *state, struct err *err);
enum err_kind __wrap_claim_stream_rewind(void *state, struct err *err);

enum err_kind
__wrap_claim_stream_rewind(void *state, struct err *err)
{
    if (before_second_pass && passes++ == 1)
        before_second_pass(changed_place);
    return __real_claim_stream_rewind(state, err);
}

static enum err_kind
attempt_with_change(struct place *place, void (*change)(const struct place *place))
{
    assert_true(temp_write(&place->dir, "traces/a.json", place->trace, 100));
    changed_place = place;
    before_second_pass = change;
    passes = 0;
    enum err_kind kind = attempt_trace(place, file_uri(place, "traces/a.json"));
    before_second_pass = NULL;
    assert_true(passes > 1);
    return kind;
}

static void
change_a_byte(const struct place *place)
{
    char *path = temp_path(&place->dir, "traces/a.json");
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    /* White space behind the document: no parser would mind. */
    assert_int_equal(pwrite(fd, " ", 1, (off_t)strlen(place->trace)), 1);
    close(fd);
    free(path);
}

static void
set_another_time(const struct place *place)
{
    assert_true(temp_touch(&place->dir, "traces/a.json", 50));
}

static void
does_not_split_a_trace_that_changes_between_the_passes(void **state)
{
    struct place *place = *state;
    attempt_with_change(place, change_a_byte);
    assert_string_equal(place->err.code, "trace_changed");
    assert_retried(place, "claim_unavailable");
    assert_int_equal(count_chunks(place), 0);
}

static void
splits_a_trace_whose_time_alone_changes(void **state)
{
    struct place *place = *state;
    assert_int_equal(attempt_with_change(place, set_another_time), ERR_OK);
    assert_split(place);
}

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(splits_what_a_server_has),
        PLACE_TEST(gives_up_on_what_is_not_there),
        PLACE_TEST(refuses_what_it_may_not_read),
        PLACE_TEST(gives_up_on_a_server_in_trouble),
        PLACE_TEST(gives_up_on_a_transfer_that_does_not_end_well),
        PLACE_TEST(refuses_another_size_or_digest_with_both),
        PLACE_TEST(refuses_to_spool_more_than_it_may),
        PLACE_TEST(splits_a_file_below_its_roots),
        PLACE_TEST(gives_up_on_a_file_that_does_not_come),
        PLACE_TEST(refuses_a_file_that_is_closed_to_it),
        PLACE_TEST(makes_a_dead_letter_of_what_can_be_no_claim),
        PLACE_TEST(makes_a_dead_letter_of_a_file_outside_its_roots),
        PLACE_TEST(does_not_split_a_trace_that_changes_between_the_passes),
        PLACE_TEST(splits_a_trace_whose_time_alone_changes),
    };
    return cmocka_run_group_tests_name("split_claims", tests, NULL, NULL);
}
