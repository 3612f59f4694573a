/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet over SASL_SSL against a real Kafka with ACLs: who may not says so with exit
 * status 77 and loses nothing, and no secret is ever printed.
 */
#include "kafka.h"
#include "topics.h"

#include "real_kafka.h"
#include "run_heddle.h"

#include "unit.h"

#include <signal.h>

CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

enum { TIMEOUT_MS = 60000, VARIABLE_BYTES = 512, N_RUNS = 3, PATH_BYTES = 512 };

#define GROUP "heddle-audit"

static struct real_kafka kafka;
static struct temp_dir campaign;
static struct temp_dir state_dir;

/* Makes a result for each run, old enough to be taken. */
static bool
write_campaign(void)
{
    for (int i = 0; i < N_RUNS; i++) {
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "M/20260801T000000Z/runs/gemm_tuning/t%d/result.json",
                 i);
        if (!temp_write(&campaign, name,
                        "{\"backend\": \"forge\", \"status\": \"failed\", "
                        "\"tuners_run\": []}",
                        3600))
            return false;
    }
    return temp_write(&campaign, "secrets/worker", "worker-secret\n", 0) &&
           temp_write(&campaign, "secrets/reader", "reader-secret\n", 0) &&
           temp_write(&campaign, "secrets/wrong", "guessed-secret\n", 0);
}

static int
open_kafka(void **state)
{
    (void)state;
    bool made = temp_dir_make(&campaign) && temp_dir_make(&state_dir) &&
                write_campaign() && real_kafka_start_with_topics(&kafka, true);
    return made ? 0 : -1;
}

static int
close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    temp_dir_done(&campaign);
    temp_dir_done(&state_dir);
    return 0;
}

/* The environment of a program that logs in. */
struct login {
    char text[8][VARIABLE_BYTES];
    const char *variables[9];
};

static const char *const *
login(struct login *login, const char *mechanism, const char *user, const char *secret)
{
    size_t n = 0;
    snprintf(login->text[n++], VARIABLE_BYTES, "HEDDLE_BROKERS=%s", kafka.secure);
    snprintf(login->text[n++], VARIABLE_BYTES, "HEDDLE_KAFKA_SECURITY_PROTOCOL=SASL_SSL");
    snprintf(login->text[n++], VARIABLE_BYTES, "HEDDLE_KAFKA_SASL_MECHANISM=%s",
             mechanism);
    snprintf(login->text[n++], VARIABLE_BYTES, "HEDDLE_KAFKA_SASL_USERNAME=%s", user);
    snprintf(login->text[n++], VARIABLE_BYTES,
             "HEDDLE_KAFKA_SASL_PASSWORD_FILE=%s/secrets/%s", campaign.path, secret);
    snprintf(login->text[n++], VARIABLE_BYTES, "HEDDLE_KAFKA_SSL_CA_LOCATION=%s",
             kafka.ca_file);
    snprintf(login->text[n++], VARIABLE_BYTES, "XDG_STATE_HOME=%s", state_dir.path);
    for (size_t i = 0; i < n; i++)
        login->variables[i] = login->text[i];
    login->variables[n] = NULL;
    return login->variables;
}

static void
allow(const char *user, const char *what, const char *name, const char *operation)
{
    char principal[64];
    snprintf(principal, sizeof principal, "User:%s", user);
    assert_true(real_kafka_tool(&kafka, "org.apache.kafka.tools.AclCommand",
                                WORDS("--add", "--allow-principal", principal,
                                      "--operation", operation, what, name)));
}

/* Records of the topic, as somebody with all rights sees them. */
static size_t
count_records(const char *topic)
{
    const struct kafka_settings from = {.brokers = kafka.bootstrap, .client_id = "test"};
    struct err err = {0};
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader =
        topic_reader_new(&from, topic, TOPIC_FROM_START, TIMEOUT_MS, &err);
    assert_non_null(reader);
    size_t n = 0;
    for (bool done = false; !done;) {
        n += topic_reader_next(reader, TIMEOUT_MS, &done, &err) != NULL;
        assert_int_equal(err.kind, ERR_OK);
    }
    return n;
}

static void
assert_says(const struct process *process, const char *needle)
{
    if (!strstr(process->text, needle))
        fail_msg("\"%s\" is not in:\n%s", needle, process->text);
}

static void
assert_keeps_secrets(const struct process *process)
{
    if (strstr(process->text, "-secret"))
        fail_msg("a secret is in:\n%s", process->text);
}

static void
assert_status(const struct process *process, int status, int wanted)
{
    if (status != wanted)
        fail_msg("exit status %d, not %d:\n%s", status, wanted, process->text);
}

static void
feed(struct process *process, const struct login *as, int wanted)
{
    int status = heddle_run(process, as->variables, WORDS("feed", campaign.path));
    assert_status(process, status, wanted);
    assert_keeps_secrets(process);
}

static void
feed_without_the_right_to_write_says_so_and_loses_nothing(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    login(&as, "PLAIN", "worker", "worker");

    feed(&process, &as, EXIT_PERMISSION);
    assert_says(&process, TOPIC_TUNINGS);
    assert_says(&process, "ask for an ACL");
    process_close(&process);
    allow("worker", "--topic", TOPIC_TUNINGS, "Describe");
    feed(&process, &as, EXIT_PERMISSION);
    process_close(&process);
    assert_int_equal(count_records(TOPIC_TUNINGS), 0);

    allow("worker", "--topic", TOPIC_TUNINGS, "Write");
    feed(&process, &as, EXIT_OK);
    process_close(&process);
    assert_int_equal(count_records(TOPIC_TUNINGS), N_RUNS);
}

static void
a_wrong_password_is_told_from_a_missing_right(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    login(&as, "PLAIN", "worker", "wrong");

    feed(&process, &as, EXIT_PERMISSION);

    assert_says(&process, "sasl.password");
    process_close(&process);
}

static int
tap(struct process *process, const struct login *as)
{
    return heddle_run(process, as->variables,
                      WORDS("tap", TOPIC_TUNINGS, "--from", "start", "--until-end"));
}

static void
tap_without_the_right_to_read_says_so(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    login(&as, "PLAIN", "reader", "reader");

    assert_status(&process, tap(&process, &as), EXIT_PERMISSION);
    assert_says(&process, TOPIC_TUNINGS);
    assert_keeps_secrets(&process);
    process_close(&process);

    allow("reader", "--topic", TOPIC_TUNINGS, "Read");
    assert_status(&process, tap(&process, &as), EXIT_OK);
    assert_says(&process, "gemm_tuning");
    process_close(&process);
}

/* --- a worker --------------------------------------------------------------------------
 */

static const char *delivery = "HEDDLE_DELIVERY=at-least-once";

static void
start_worker(struct process *process, const struct login *as)
{
    const char *variables[12] = {"HEDDLE_CONFIG=/dev/null", delivery};
    size_t n = 2;
    for (size_t i = 0; as->variables[i]; i++)
        variables[n++] = as->variables[i];
    assert_true(process_start(process, WORDS(BIN_DIR "/heddle-audit"), variables));
}

static void
assert_worker_is_refused(const struct login *as, const char *object)
{
    struct process process;
    start_worker(&process, as);
    int status = process_wait(&process, TIMEOUT_MS);
    if (status < 0)
        process_end(process.pid, SIGKILL, TIMEOUT_MS);
    assert_status(&process, status, EXIT_PERMISSION);
    assert_says(&process, "permission_denied");
    assert_says(&process, object);
    assert_keeps_secrets(&process);
    process_close(&process);
}

static void
wait_for_records(const char *topic, size_t wanted)
{
    long long deadline = process_now_ms() + TIMEOUT_MS;
    while (count_records(topic) < wanted)
        assert_true(process_now_ms() < deadline);
}

static void
a_worker_that_may_not_write_its_output_says_so_and_loses_nothing(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    login(&as, "PLAIN", "worker", "worker");

    assert_worker_is_refused(&as, TOPIC_TUNINGS);
    allow("worker", "--topic", TOPIC_TUNINGS, "Read");
    assert_worker_is_refused(&as, GROUP);
    allow("worker", "--group", GROUP, "Read");
    assert_worker_is_refused(&as, TOPIC_STATE_AUDIT);
    allow("worker", "--topic", TOPIC_STATE_AUDIT, "Read");
    allow("worker", "--topic", TOPIC_STATE_AUDIT, "Write");
    assert_worker_is_refused(&as, TOPIC_AUDIT_TUNINGS);
    assert_int_equal(count_records(TOPIC_AUDIT_TUNINGS), 0);
    assert_int_equal(count_records(TOPIC_DEAD), 0);

    allow("worker", "--topic", TOPIC_AUDIT_TUNINGS, "Write");
    allow("worker", "--topic", TOPIC_WARNINGS, "Write");
    start_worker(&process, &as);
    /* Each result gives its row and the tombstone of its orphan record. */
    wait_for_records(TOPIC_AUDIT_TUNINGS, N_RUNS);
    process_signal(&process, SIGTERM);
    assert_status(&process, process_wait(&process, TIMEOUT_MS), EXIT_OK);
    assert_keeps_secrets(&process);
    process_close(&process);
    assert_int_equal(count_records(TOPIC_DEAD), 0);
}

/* The name is that of docs/delivery.md, and so is what it takes. */
static void
a_worker_that_may_not_use_its_transactional_id_says_so(void **state)
{
    (void)state;
    static const char id[] = "heddle-audit-heddle-audit-here";
    struct login as;
    struct process process;
    char line[VARIABLE_BYTES];
    login(&as, "PLAIN", "worker", "worker");
    as.variables[7] = "HEDDLE_INSTANCE=here";
    as.variables[8] = NULL;
    delivery = "HEDDLE_DELIVERY=exactly-once";

    assert_worker_is_refused(&as, id);
    allow("worker", "--transactional-id", id, "Write");
    start_worker(&process, &as);

    assert_true(
        process_wait_line(&process, "partition assigned", line, sizeof line, TIMEOUT_MS));
    process_signal(&process, SIGTERM);
    assert_status(&process, process_wait(&process, TIMEOUT_MS), EXIT_OK);
    process_close(&process);
    delivery = "HEDDLE_DELIVERY=at-least-once";
}

/* --- secrets ---------------------------------------------------------------------------
 */

static void
no_secret_is_printed_however_it_was_given(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    char at_file[VARIABLE_BYTES];
    login(&as, "PLAIN", "worker", "worker");
    snprintf(at_file, sizeof at_file, "-Xsasl.password=@file:%s/secrets/worker",
             campaign.path);

    assert_status(&process, heddle_run(&process, as.variables, WORDS("check")), EXIT_OK);
    assert_says(&process, "sasl.password");
    assert_says(&process, "***");
    assert_keeps_secrets(&process);
    process_close(&process);

    const char *const *with_flag = WORDS("check", at_file, "-Xssl.key.password=x-secret");
    assert_status(&process, heddle_run(&process, as.variables, with_flag), EXIT_OK);
    assert_says(&process, "ssl.key.password");
    assert_keeps_secrets(&process);
    process_close(&process);
}

static void
no_secret_is_logged_even_when_the_library_tells_all(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    login(&as, "PLAIN", "worker", "worker");

    const char *const *words =
        WORDS("feed", campaign.path, "--again", "--log-level", "debug", "-Xdebug=all");
    assert_status(&process, heddle_run(&process, as.variables, words), EXIT_OK);

    assert_keeps_secrets(&process);
    process_close(&process);
}

static void
logs_in_with_a_password_that_a_flag_names_by_its_file(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    char at_file[VARIABLE_BYTES];
    login(&as, "PLAIN", "worker", "wrong");
    snprintf(at_file, sizeof at_file, "-Xsasl.password=@file:%s/secrets/worker",
             campaign.path);

    int status =
        heddle_run(&process, as.variables, WORDS("feed", campaign.path, at_file));

    assert_status(&process, status, EXIT_OK);
    process_close(&process);
}

/* --- SCRAM -----------------------------------------------------------------------------
 */

static bool
library_can_scram(void)
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    assert_int_equal(sscanf(kafka_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    return major * 10000 + minor * 100 + patch >= 20601;
}

static void
scram_logs_in_or_is_said_to_need_a_newer_library(void **state)
{
    (void)state;
    struct login as;
    struct process process;
    login(&as, "SCRAM-SHA-256", "worker", "worker");

    if (library_can_scram()) {
        feed(&process, &as, EXIT_OK);
        assert_null(strstr(process.text, "SCRAM"));
    } else {
        feed(&process, &as, EXIT_PERMISSION);
        assert_says(&process, "SCRAM-SHA-256");
        assert_says(&process, kafka_version());
        assert_says(&process, "2.6.1");
    }
    process_close(&process);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feed_without_the_right_to_write_says_so_and_loses_nothing),
        cmocka_unit_test(a_wrong_password_is_told_from_a_missing_right),
        cmocka_unit_test(tap_without_the_right_to_read_says_so),
        cmocka_unit_test(
            a_worker_that_may_not_write_its_output_says_so_and_loses_nothing),
        cmocka_unit_test(a_worker_that_may_not_use_its_transactional_id_says_so),
        cmocka_unit_test(no_secret_is_printed_however_it_was_given),
        cmocka_unit_test(no_secret_is_logged_even_when_the_library_tells_all),
        cmocka_unit_test(logs_in_with_a_password_that_a_flag_names_by_its_file),
        cmocka_unit_test(scram_logs_in_or_is_said_to_need_a_newer_library),
    };
    int status = 0;
    if (!real_kafka_here("kafka.security", &status))
        return status;
    return cmocka_run_group_tests(tests, open_kafka, close_kafka);
}
