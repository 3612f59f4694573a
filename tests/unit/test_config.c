/* SPDX-License-Identifier: Apache-2.0 */
/* Which configuration file is taken, how it is read, and the state folder. */
#include "config.h"

#include "fleet_options.h"

#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char dir[64];
    char cwd[4096];
    struct fleet_settings settings;
    struct options *options;
    struct config_file file;
    struct err err;
};

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/heddle-config-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_non_null(getcwd(f->cwd, sizeof f->cwd));
    assert_int_equal(chdir(f->dir), 0);
    unsetenv("HEDDLE_CONFIG");
    setenv("XDG_STATE_HOME", f->dir, 1);
    struct option_table tables[] = {
        {fleet_options, n_fleet_options, &f->settings, false},
        {fleet_run_options, n_fleet_run_options, &f->settings, true},
    };
    f->options = options_new(tables, 2, config_read_value, NULL, &f->err);
    assert_non_null(f->options);
    options_foreign_sections(f->options, fleet_sections);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    options_free(f->options);
    config_file_done(&f->file);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", f->dir);
    int status = chdir(f->cwd) + system(command);
    free(f);
    return status;
}

static void
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* A socket that listens on a free port of the loopback, which is returned. */
static int
listen_somewhere(int *ret_port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void
write_dev_file(struct fixture *f, int port)
{
    char text[128];
    char *dir = config_state_dir(NULL, "dev", true, &f->err);
    char *path = config_dev_file(&f->err);
    assert_non_null(dir);
    assert_non_null(path);
    snprintf(text, sizeof text, "[heddle]\nbrokers = 127.0.0.1:%d\n", port);
    write_file(path, text);
    free(dir);
    free(path);
}

static enum config_place
find(struct fixture *f, const char *flag)
{
    config_file_done(&f->file);
    assert_int_equal(config_find(flag, &f->file, &f->err), ERR_OK);
    return f->file.place;
}

static void
takes_the_file_that_is_named_most_closely(void **state)
{
    struct fixture *f = *state;
    int port = 0;
    int fd = listen_somewhere(&port);
    write_dev_file(f, port);
    write_file("heddle.ini", "");
    setenv("HEDDLE_CONFIG", "/variable.ini", 1);

    assert_int_equal(find(f, "/flag.ini"), CONFIG_FLAG);
    assert_string_equal(f->file.path, "/flag.ini");
    assert_int_equal(find(f, NULL), CONFIG_VARIABLE);
    assert_string_equal(f->file.path, "/variable.ini");
    unsetenv("HEDDLE_CONFIG");
    assert_int_equal(find(f, NULL), CONFIG_HERE);
    assert_int_equal(unlink("heddle.ini"), 0);
    assert_int_equal(find(f, NULL), CONFIG_DEV);
    assert_non_null(strstr(f->file.path, "/heddle/dev/heddle.ini"));
    close(fd);
}

static void
passes_over_the_embedded_broker_that_does_not_answer(void **state)
{
    struct fixture *f = *state;
    int port = 0;
    int fd = listen_somewhere(&port);
    write_dev_file(f, port);
    close(fd);

    enum config_place place = find(f, NULL);

    assert_true(place == CONFIG_NONE || place == CONFIG_SYSTEM);
}

static void
sees_whether_one_of_the_brokers_answers(void **state)
{
    (void)state;
    int port = 0;
    int fd = listen_somewhere(&port);
    char brokers[96];
    snprintf(brokers, sizeof brokers, "no-port, 127.0.0.1:0,PLAINTEXT://127.0.0.1:%d",
             port);

    assert_true(config_brokers_answer(brokers, 2000));
    close(fd);
    assert_false(config_brokers_answer(brokers, 2000));
    assert_false(config_brokers_answer("", 2000));
}

static void
reads_the_file_into_the_settings(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;
    write_file("secret", "p4ss\r\n");
    write_file("a.ini", "# all\n[heddle]\nbrokers = a:1, b:2\ndelivery = at-least-once\n"
                        "[kafka]\nsasl.password = @file:secret\n[audit]\nkey = 1\n"
                        "[claim]\nroots = /\n");

    assert_int_equal(config_read(f->options, "a.ini", &f->err), ERR_OK);

    assert_string_equal(f->settings.brokers, "a:1, b:2");
    assert_int_equal(f->settings.delivery, DELIVERY_AT_LEAST_ONCE);
    assert_int_equal(f->settings.claim_roots.n, 1);
    assert_string_equal(options_properties(f->options, &n)[0].value, "p4ss");
}

static void
refuses_what_it_can_not_read_and_says_where(void **state)
{
    struct fixture *f = *state;

    write_file("a.ini", "[heddle]\n\nbroker = a:1\n");
    assert_int_equal(config_read(f->options, "a.ini", &f->err), ERR_FATAL);
    assert_string_equal(f->err.msg,
                        "a.ini:3: [heddle] has no key broker; did you mean brokers?");
    assert_int_equal(f->err.exit_code, EXIT_CONFIG);
    assert_int_equal(config_read(f->options, "none.ini", &f->err), ERR_FATAL);
    assert_string_equal(f->err.code, "config_unreadable");
    assert_int_equal(config_read(f->options, f->dir, &f->err), ERR_FATAL);
    assert_string_equal(f->err.code, "config_unreadable");
    assert_int_equal(config_read(f->options, "/dev/zero", &f->err), ERR_FATAL);
    assert_non_null(strstr(f->err.msg, "above 1 MiB"));
}

static void
makes_the_state_folder_with_its_parents(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    char *path = config_state_dir(NULL, "a/b", true, &f->err);

    assert_non_null(path);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0700);
    free(path);
    path = config_state_dir("/given", "x", false, &f->err);
    assert_string_equal(path, "/given/x");
    free(path);
}

static void
falls_back_to_the_home_folder(void **state)
{
    struct fixture *f = *state;
    const char *before = getenv("HOME");
    char home[256];
    snprintf(home, sizeof home, "%s", before ? before : "/");
    setenv("HOME", "/home/of", 1);
    setenv("XDG_STATE_HOME", "relative", 1);

    char *path = config_state_dir(NULL, NULL, false, &f->err);

    assert_string_equal(path, "/home/of/.local/state/heddle");
    free(path);
    unsetenv("HOME");
    assert_null(config_state_dir(NULL, NULL, false, &f->err));
    assert_string_equal(f->err.code, "state_dir_unusable");
    setenv("HOME", home, 1);
}

static void
refuses_a_state_folder_that_is_a_file(void **state)
{
    struct fixture *f = *state;
    write_file("heddle", "");

    assert_null(config_state_dir(NULL, "x", true, &f->err));
    assert_string_equal(f->err.code, "state_dir_unusable");
    assert_null(config_state_dir(NULL, NULL, true, &f->err));
    assert_string_equal(f->err.code, "state_dir_unusable");
}

static void
asks_for_brokers_unless_a_property_names_them(void **state)
{
    struct fixture *f = *state;

    struct kafka_settings kafka = fleet_kafka_settings(&f->settings, f->options, "id");
    assert_int_equal(fleet_check_brokers(&kafka, &f->err), ERR_FATAL);
    assert_string_equal(f->err.code, "brokers_missing");
    assert_int_equal(options_set_file(f->options, "a", 1, "kafka", "bootstrap.servers",
                                      "a:1", &f->err),
                     ERR_OK);
    kafka = fleet_kafka_settings(&f->settings, f->options, "id");
    assert_int_equal(fleet_check_brokers(&kafka, &f->err), ERR_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(takes_the_file_that_is_named_most_closely),
        TEST(passes_over_the_embedded_broker_that_does_not_answer),
        TEST(sees_whether_one_of_the_brokers_answers),
        TEST(reads_the_file_into_the_settings),
        TEST(refuses_what_it_can_not_read_and_says_where),
        TEST(makes_the_state_folder_with_its_parents),
        TEST(falls_back_to_the_home_folder),
        TEST(refuses_a_state_folder_that_is_a_file),
        TEST(asks_for_brokers_unless_a_property_names_them),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
