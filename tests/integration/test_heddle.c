/* SPDX-License-Identifier: Apache-2.0 */
/* The front command as a person meets it: answers, refusals, exit codes, both streams. */
#include "err.h"
#include "process.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMEOUT_MS = 20000 };

static const char heddle[] = BIN_DIR "/heddle";

struct fixture {
    char dir[64];
    char state[80]; /* XDG_STATE_HOME=... */
    char cwd[4096];
    struct process process;
};

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->process.out = -1;
    snprintf(f->dir, sizeof f->dir, "/tmp/heddle-front-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->state, sizeof f->state, "XDG_STATE_HOME=%s", f->dir);
    assert_non_null(getcwd(f->cwd, sizeof f->cwd));
    assert_int_equal(chdir(f->dir), 0);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", f->dir);
    int status = chdir(f->cwd) + system(command);
    process_close(&f->process);
    free(f);
    return status;
}

/* Runs heddle with these arguments and returns its exit status. */
#define RUN(f, variable, ...)                                                            \
    run((f), (variable), (const char *const[]){heddle, __VA_ARGS__, NULL})

static int
run(struct fixture *f, const char *variable, const char *const *argv)
{
    const char *const environment[] = {f->state, variable, NULL};
    process_close(&f->process);
    assert_true(process_start(&f->process, argv, environment));
    return process_wait(&f->process, TIMEOUT_MS);
}

static bool
says(const struct fixture *f, const char *text)
{
    return strstr(f->process.text, text) != NULL;
}

static void
write_config(const char *text)
{
    FILE *file = fopen("heddle.ini", "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void
answers_without_a_configuration(void **state)
{
    struct fixture *f = *state;
    write_config("[broken");

    assert_int_equal(RUN(f, NULL, "help"), EXIT_OK);
    assert_true(says(f, "Usage: heddle VERB"));
    assert_int_equal(RUN(f, NULL, "--help"), EXIT_OK);
    assert_int_equal(RUN(f, NULL, "help", "check"), EXIT_OK);
    assert_true(says(f, "--worker NAME"));
    assert_int_equal(RUN(f, NULL, "--version"), EXIT_OK);
    assert_true(says(f, "heddle " HEDDLE_VERSION));
    assert_int_equal(RUN(f, NULL, "version"), EXIT_OK);
    assert_int_equal(RUN(f, NULL, "check", "--version"), EXIT_OK);
    assert_int_equal(RUN(f, NULL, "check"), EXIT_CONFIG);
}

static void
names_the_features_of_its_libraries(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(RUN(f, NULL, "version", "--features"), EXIT_OK);

    assert_true(says(f, "librdkafka  2"));
    assert_true(says(f, "openssl     OpenSSL"));
}

static void
refuses_a_wrong_command_line_with_64(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(RUN(f, NULL, "chekc"), EXIT_USAGE);
    assert_true(says(f, "did you mean check?"));
    assert_int_equal(RUN(f, NULL, "help", "vresion"), EXIT_USAGE);
    assert_true(says(f, "did you mean version?"));
    assert_int_equal(run(f, NULL, (const char *const[]){heddle, NULL}), EXIT_USAGE);
    assert_int_equal(RUN(f, NULL, "--config", "x"), EXIT_USAGE);
    assert_true(says(f, "the verb comes first"));
    assert_int_equal(RUN(f, NULL, "check", "--lgo-format", "json"), EXIT_USAGE);
    assert_true(says(f, "did you mean --log-format?"));
    assert_int_equal(RUN(f, NULL, "check", "more"), EXIT_USAGE);
    assert_int_equal(RUN(f, NULL, "check", "--worker", "../sh"), EXIT_USAGE);
    assert_int_equal(RUN(f, NULL, "check", "--worker", "nothing"), EXIT_USAGE);
}

static void
refuses_a_wrong_configuration_with_78(void **state)
{
    struct fixture *f = *state;

    write_config("[heddle]\nbrokesr = a:1\n");
    assert_int_equal(RUN(f, NULL, "check"), EXIT_CONFIG);
    assert_true(says(f, "./heddle.ini:2: [heddle] has no key brokesr; did you mean "
                        "brokers?"));
    write_config("");
    assert_int_equal(RUN(f, "HEDDLE_BATCH_TIME=soon", "check"), EXIT_CONFIG);
    assert_true(says(f, "HEDDLE_BATCH_TIME"));
    assert_int_equal(RUN(f, "HEDDLE_CONFIG=/nowhere.ini", "check"), EXIT_CONFIG);
    assert_true(says(f, "/nowhere.ini can't be read"));
    assert_int_equal(RUN(f, NULL, "check", "-X", "securty.protocol=ssl"), EXIT_CONFIG);
    assert_true(says(f, "security.protocol"));
    assert_int_equal(RUN(f, NULL, "check", "-X", "security.protocol=plaintex"),
                     EXIT_CONFIG);
}

static void
prints_each_setting_with_its_origin_and_no_secret(void **state)
{
    struct fixture *f = *state;
    write_config("[heddle]\nbrokers = file:1\ngroup = file\n[kafka]\n"
                 "sasl.password = hidden\n");

    int status = RUN(f, "HEDDLE_GROUP=variable", "check", "--batch-time", "30s");

    assert_int_equal(status, EXIT_OK);
    assert_true(says(f, "heddle.brokers = file:1  # file ./heddle.ini:2\n"));
    assert_true(says(f, "heddle.group = variable  # environment HEDDLE_GROUP\n"));
    assert_true(says(f, "heddle.batch_time = 30s  # flag --batch-time\n"));
    assert_true(says(f, "heddle.log_format = text  # default\n"));
    assert_true(says(f, "kafka.sasl.password = ***  # file ./heddle.ini:5\n"));
    assert_false(says(f, "hidden"));
}

static void
fails_when_its_answer_can_not_be_written(void **state)
{
    struct fixture *f = *state;
    char command[512];
    snprintf(command, sizeof command, "exec %s version >/dev/full", heddle);

    int status = run(f, NULL, (const char *const[]){"/bin/sh", "-c", command, NULL});

    assert_int_equal(status, EXIT_TRY_AGAIN);
    assert_true(says(f, "standard output can't be written"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_without_a_configuration),
        TEST(names_the_features_of_its_libraries),
        TEST(refuses_a_wrong_command_line_with_64),
        TEST(refuses_a_wrong_configuration_with_78),
        TEST(prints_each_setting_with_its_origin_and_no_secret),
        TEST(fails_when_its_answer_can_not_be_written),
    };
    return cmocka_run_group_tests_name("heddle", tests, NULL, NULL);
}
