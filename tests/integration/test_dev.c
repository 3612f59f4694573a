/* SPDX-License-Identifier: Apache-2.0 */
/* heddle dev: starts once, is picked up by its configuration, ends what it started. */
#include <stdio.h>
#include <unistd.h>

#include "process.h"
#include "temp_dir.h"

#include "unit.h"

enum { TIMEOUT_MS = 60000, TEXT_BYTES = 4096 };

static struct temp_dir home;

static int
make_home(void **state)
{
    (void)state;
    return temp_dir_make(&home) ? 0 : -1;
}

/* Runs heddle with the words of `line`; its output in `text`. */
static int
heddle(const char *line, char text[static TEXT_BYTES])
{
    char words[256];
    char state_home[512];
    const char *argv[16] = {BIN_DIR "/heddle"};
    const char *environment[] = {state_home, NULL};
    snprintf(words, sizeof words, "%s", line);
    snprintf(state_home, sizeof state_home, "XDG_STATE_HOME=%s", home.path);
    int n = 1;
    char *save = NULL;
    for (char *word = strtok_r(words, " ", &save); word && n < 15;
         word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    struct process process;
    assert_true(process_start(&process, argv, environment));
    int status = process_wait(&process, TIMEOUT_MS);
    snprintf(text, TEXT_BYTES, "%s", process.text);
    process_close(&process);
    return status;
}

static int
end_broker(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    heddle("dev down", text);
    temp_dir_done(&home);
    return 0;
}

static bool
state_file_exists(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "heddle/dev/%s", name);
    char *full = temp_path(&home, path);
    bool exists = access(full, F_OK) == 0;
    free(full);
    return exists;
}

/* The port that `dev up` says; 0 when it says none. */
static int
port_in(const char *text)
{
    static const char running[] = "running on 127.0.0.1:";
    size_t len = sizeof running - 1;
    return strncmp(text, running, len) == 0 ? (int)strtol(text + len, NULL, 10) : 0;
}

static void
says_that_nothing_is_running(void **state)
{
    (void)state;
    char text[TEXT_BYTES];

    assert_int_equal(heddle("dev status", text), 1);

    assert_non_null(strstr(text, "not running"));
    assert_int_equal(heddle("dev down", text), 0);
}

static void
starts_once_and_ends_what_it_started(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    int port = 0;

    assert_int_equal(heddle("dev up --port 0", text), 0);
    port = port_in(text);
    assert_true(port > 0);
    assert_int_equal(heddle("dev up --port 0", text), 0);
    assert_non_null(strstr(text, "already running"));
    assert_int_equal(heddle("dev status", text), 0);
    assert_non_null(strstr(text, "heddle.tunings"));
    assert_non_null(strstr(text, "limits: loopback only"));
    assert_int_equal(heddle("check", text), 0);
    char brokers[64];
    snprintf(brokers, sizeof brokers, "heddle.brokers = 127.0.0.1:%d", port);
    assert_non_null(strstr(text, brokers));

    assert_int_equal(heddle("dev down", text), 0);

    assert_false(state_file_exists("heddle.ini"));
    assert_false(state_file_exists("pid"));
    assert_int_equal(heddle("dev status", text), 1);
}

static void
leaves_alone_a_process_that_is_not_its_own(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    char pid[64];
    snprintf(pid, sizeof pid, "%d 1 19092\n", (int)getpid());
    assert_true(temp_write(&home, "heddle/dev/pid", pid, 0));

    assert_int_equal(heddle("dev down", text), 0);

    assert_non_null(strstr(text, "not running"));
    assert_false(state_file_exists("pid"));
}

static void
names_the_port_that_is_taken(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    char again[64];
    int port = 0;
    assert_int_equal(heddle("dev up --port 0", text), 0);
    port = port_in(text);
    assert_true(port > 0);
    char *pid = temp_path(&home, "heddle/dev/pid");
    char *hidden = temp_path(&home, "heddle/dev/hidden");
    assert_int_equal(rename(pid, hidden), 0);
    snprintf(again, sizeof again, "dev up --port %d", port);

    int status = heddle(again, text);

    assert_int_equal(status, 69);
    assert_non_null(strstr(text, "Address already in use"));
    assert_int_equal(rename(hidden, pid), 0);
    free(pid);
    free(hidden);
    assert_int_equal(heddle("dev down", text), 0);
    assert_non_null(strstr(text, "ended"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_nothing_is_running),
        cmocka_unit_test(starts_once_and_ends_what_it_started),
        cmocka_unit_test(leaves_alone_a_process_that_is_not_its_own),
        cmocka_unit_test(names_the_port_that_is_taken),
    };
    return cmocka_run_group_tests(tests, make_home, end_broker);
}
