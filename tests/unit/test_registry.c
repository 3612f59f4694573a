/* SPDX-License-Identifier: Apache-2.0 */
/* The registry client against a server that misbehaves on request. */
#include "registry.h"

#include "canned_http.h"
#include "temp_dir.h"
#include "unit.h"

#include <stdio.h>

enum { PATH_ROOM = 512 };

static const struct canned_answer string_schema[] = {
    {.method = "GET",
     .path = "/schemas/ids/7",
     .status = 200,
     .body = "{\"schema\":\"\\\"string\\\"\"}"},
};

static const struct canned_answer broken[] = {{.status = 500, .body = "{}"}};

struct fixture {
    struct canned_http *server;
    struct temp_dir dir;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_true(temp_dir_make(&f->dir));
    f->server = canned_http_start(NULL);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    canned_http_stop(f->server);
    temp_dir_done(&f->dir);
    free(f);
    return 0;
}

static struct registry *
client(const struct fixture *f, int64_t grace_ms)
{
    struct err err;
    struct registry *registry =
        registry_new(&(struct registry_settings){.url = canned_http_url(f->server),
                                                 .http = {.timeout_ms = 500},
                                                 .cache_dir = f->dir.path,
                                                 .unknown_grace_ms = grace_ms},
                     &err);
    assert_non_null(registry);
    return registry;
}

static void
answers(const struct fixture *f, const struct canned_answer *rows, size_t n)
{
    canned_http_answer(f->server, rows, n);
}

static void
asks_once_and_remembers(void **state)
{
    struct fixture *f = *state;
    struct registry *registry = client(f, 0);
    answers(f, string_schema, 1);
    struct slice text = {0};
    struct err err;

    for (int i = 0; i < 5; i++)
        assert_int_equal(registry_by_id(registry, 7, &text, &err), ERR_OK);

    assert_true(slice_is(text, "\"string\""));
    assert_int_equal(canned_http_requests(f->server), 1);
    registry_free(registry);
}

static void
serves_known_ids_from_disk_during_an_outage(void **state)
{
    struct fixture *f = *state;
    struct slice text = {0};
    struct err err;
    struct registry *before = client(f, 0);
    answers(f, string_schema, 1);
    assert_int_equal(registry_by_id(before, 7, &text, &err), ERR_OK);
    registry_free(before);

    answers(f, broken, 1);
    struct registry *after = client(f, 0);

    assert_int_equal(registry_by_id(after, 7, &text, &err), ERR_OK);
    assert_true(slice_is(text, "\"string\""));
    assert_int_equal(registry_by_id(after, 8, &text, &err), ERR_RETRY);
    assert_string_equal(err.code, "registry_unavailable");
    registry_free(after);
}

static void
believes_the_registry_and_not_an_old_copy(void **state)
{
    struct fixture *f = *state;
    static const struct canned_answer anew[] = {
        {.method = "GET",
         .path = "/schemas/ids/7",
         .status = 200,
         .body = "{\"schema\":\"\\\"int\\\"\"}"},
    };
    struct slice text = {0};
    struct err err;
    struct registry *before = client(f, 0);
    answers(f, string_schema, 1);
    assert_int_equal(registry_by_id(before, 7, &text, &err), ERR_OK);
    registry_free(before);

    answers(f, anew, 1);
    struct registry *after = client(f, 0);

    assert_int_equal(registry_by_id(after, 7, &text, &err), ERR_OK);
    assert_true(slice_is(text, "\"int\""));
    registry_free(after);
}

static void
retries_while_the_registry_cannot_answer(void **state)
{
    struct fixture *f = *state;
    static const struct canned_answer bad[] = {
        {.status = 500, .body = "{}"},
        {.status = 503, .body = "busy"},
        {.status = 429, .body = "{}"},
        {.status = 200, .body = "<html>proxy</html>"},
        {.status = 200, .body = "[]"},
        {.status = 200, .body = "{\"id\":7}"},
        {.status = 200, .body = "{\"schema\":7}"},
        {.status = 200, .body = "{\"schema\":\"x\",\"schemaType\":\"PROTOBUF\"}"},
        {.status = 418, .body = "{}"},
        {.status = 200, .body = "{\"schema\":\"\\\"int\\\"\"}", .delay_ms = 2000},
    };
    struct slice text = {0};
    struct registry *registry = client(f, 0);

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err;
        answers(f, &bad[i], 1);
        assert_int_equal(registry_by_id(registry, 7, &text, &err), ERR_RETRY);
        assert_string_equal(err.code, "registry_unavailable");
    }
    registry_free(registry);
}

static void
retries_when_nobody_listens(void **state)
{
    struct fixture *f = *state;
    struct registry *registry = client(f, 0);
    canned_http_stop(f->server);
    f->server = NULL;
    struct slice text = {0};
    struct err err;

    assert_int_equal(registry_by_id(registry, 7, &text, &err), ERR_RETRY);
    assert_string_equal(err.code, "registry_unavailable");
    registry_free(registry);
}

static void
asks_again_for_a_denied_id_until_the_grace_is_over(void **state)
{
    struct fixture *f = *state;
    struct slice text = {0};
    struct err err;
    struct registry *patient = client(f, 3600000);
    struct registry *strict = client(f, 0);

    assert_int_equal(registry_by_id(patient, 7, &text, &err), ERR_RETRY);
    assert_string_equal(err.code, "schema_unknown");
    answers(f, string_schema, 1);
    assert_int_equal(registry_by_id(patient, 7, &text, &err), ERR_OK);

    assert_int_equal(registry_by_id(strict, 9, &text, &err), ERR_RECORD);
    assert_string_equal(err.code, "schema_unknown");
    registry_free(patient);
    registry_free(strict);
}

static void
leaves_when_the_password_is_wrong(void **state)
{
    struct fixture *f = *state;
    struct canned_http *guarded =
        canned_http_start(&(struct canned_options){"heddle", "right", NULL, NULL});
    canned_http_answer(guarded, string_schema, 1);
    struct slice text = {0};
    struct err err;
    struct registry_settings settings = {
        .url = canned_http_url(guarded),
        .http = {.username = "heddle", .password = "wrong", .timeout_ms = 500},
    };

    struct registry *refused = registry_new(&settings, &err);
    assert_int_equal(registry_by_id(refused, 7, &text, &err), ERR_FATAL);
    assert_string_equal(err.code, "registry_denied");
    assert_int_equal(err_exit_code(&err), EXIT_PERMISSION);
    assert_null(strstr(err.msg, "wrong"));
    registry_free(refused);

    settings.http.password = "right";
    struct registry *welcome = registry_new(&settings, &err);
    assert_int_equal(registry_by_id(welcome, 7, &text, &err), ERR_OK);
    registry_free(welcome);
    canned_http_stop(guarded);
    (void)f;
}

static void
checks_the_certificate_of_the_server(void **state)
{
    struct fixture *f = *state;
    char cert[PATH_ROOM];
    char key[PATH_ROOM];
    char command[4 * PATH_ROOM];
    snprintf(cert, sizeof cert, "%s/cert.pem", f->dir.path);
    snprintf(key, sizeof key, "%s/key.pem", f->dir.path);
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
             "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
             key, cert);
    assert_int_equal(system(command), 0);
    struct canned_http *secure =
        canned_http_start(&(struct canned_options){NULL, NULL, cert, key});
    canned_http_answer(secure, string_schema, 1);
    struct slice text = {0};
    struct err err;
    struct registry_settings settings = {
        .url = canned_http_url(secure),
        .http = {.connect_timeout_ms = 60000, .timeout_ms = 60000}};

    struct registry *stranger = registry_new(&settings, &err);
    assert_int_equal(registry_by_id(stranger, 7, &text, &err), ERR_FATAL);
    assert_string_equal(err.code, "http_tls");
    registry_free(stranger);

    settings.http.ca_file = cert;
    struct registry *friend = registry_new(&settings, &err);
    assert_int_equal(registry_by_id(friend, 7, &text, &err), ERR_OK);
    registry_free(friend);
    canned_http_stop(secure);
}

static void
registers_the_text_as_it_stands(void **state)
{
    struct fixture *f = *state;
    static const struct canned_answer rows[] = {
        {.method = "POST",
         .path = "/subjects/heddle.tunings-value/versions",
         .status = 200,
         .body = "{\"id\":12}"},
        {.method = "POST",
         .path = "/subjects/bad-value/versions",
         .status = 409,
         .body = "{\"message\":\"reader\"}"},
    };
    struct registry *registry = client(f, 0);
    answers(f, rows, 2);
    uint32_t id = 0;
    struct err err;

    assert_int_equal(
        registry_register(registry, "heddle.tunings-value", SLICE("\"int\" "), &id, &err),
        ERR_OK);
    assert_int_equal(id, 12);
    assert_non_null(strstr(canned_http_last_body(f->server), "\"\\\"int\\\" \""));

    assert_int_equal(
        registry_register(registry, "bad-value", SLICE("\"int\""), &id, &err),
        ERR_RECORD);
    assert_string_equal(err.code, "schema_incompatible");
    registry_free(registry);
}

static void
tells_what_is_not_there_from_what_failed(void **state)
{
    struct fixture *f = *state;
    struct registry *registry = client(f, 0);
    uint32_t id = 5;
    char *text = NULL;
    bool compatible = false;
    struct err err;

    assert_int_equal(registry_lookup(registry, "s", SLICE("\"int\""), &id, &err), ERR_OK);
    assert_int_equal(id, 0);
    assert_int_equal(registry_by_version(registry, "s", "latest", &text, &id, &err),
                     ERR_OK);
    assert_null(text);
    assert_int_equal(
        registry_compatible(registry, "s", SLICE("\"int\""), &compatible, &err), ERR_OK);
    assert_true(compatible);

    answers(f, broken, 1);
    assert_int_equal(
        registry_compatible(registry, "s", SLICE("\"int\""), &compatible, &err),
        ERR_RETRY);
    registry_free(registry);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(asks_once_and_remembers),
        WITH_SERVER(serves_known_ids_from_disk_during_an_outage),
        WITH_SERVER(believes_the_registry_and_not_an_old_copy),
        WITH_SERVER(retries_while_the_registry_cannot_answer),
        WITH_SERVER(retries_when_nobody_listens),
        WITH_SERVER(asks_again_for_a_denied_id_until_the_grace_is_over),
        WITH_SERVER(leaves_when_the_password_is_wrong),
        WITH_SERVER(checks_the_certificate_of_the_server),
        WITH_SERVER(registers_the_text_as_it_stands),
        WITH_SERVER(tells_what_is_not_there_from_what_failed),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
