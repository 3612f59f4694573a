/* SPDX-License-Identifier: Apache-2.0 */
/* The chunk store: what is visible when, what is kept, what is tried again. */
#include "chunk_store.h"

#include "unit.h"

#include "canned_http.h"
#include "digest.h"
#include "sigv4.h"
#include "temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    struct temp_dir dir;
    struct chunk_store *store;
};

static struct chunk_store *
open_store(const char *url)
{
    struct chunk_store *store = NULL;
    struct err err = {0};
    assert_int_equal(
        chunk_store_new(&(struct chunk_store_settings){.url = url}, &store, &err),
        ERR_OK);
    return store;
}

static int
set_up(void **state)
{
    char url[512];
    struct place *place = calloc(1, sizeof *place);
    assert_true(temp_dir_make(&place->dir));
    snprintf(url, sizeof url, "file://%s/", place->dir.path);
    place->store = open_store(url);
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    chunk_store_free(place->store);
    temp_dir_done(&place->dir);
    free(place);
    return 0;
}

static struct chunk_draft *
draft_of(struct place *place, const char *text)
{
    struct chunk_draft *draft = NULL;
    struct err err = {0};
    assert_int_equal(chunk_draft_new(place->store, CHUNK_PLACE_CHUNKS, &draft, &err),
                     ERR_OK);
    assert_int_equal(chunk_draft_add(draft, slice_of(text), &err), ERR_OK);
    return draft;
}

static void
put(struct place *place, const char *name, const char *text)
{
    struct err err = {0};
    struct chunk_draft *draft = draft_of(place, text);
    assert_int_equal(chunk_draft_put(draft, name, &err), ERR_OK);
    chunk_draft_free(draft);
}

/* The files of the store's folder `below`, drafts counted, too. */
static int
count(const struct place *place, const char *below)
{
    int n = 0;
    char *path = temp_path(&place->dir, below);
    DIR *dir = opendir(path);
    free(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return n;
}

static void
assert_holds(const struct place *place, const char *name, const char *text)
{
    char bytes[64] = "";
    char *path = temp_path(&place->dir, name);
    FILE *file = fopen(path, "re");
    free(path);
    assert_non_null(file);
    size_t len = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    assert_int_equal(len, strlen(text));
    assert_string_equal(bytes, text);
}

static void
shows_an_object_only_once_it_is_put(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct chunk_draft *draft = draft_of(place, "half ");
    char *path = temp_path(&place->dir, "chunks/a.json.gz");
    assert_int_not_equal(access(path, F_OK), 0);

    assert_int_equal(chunk_draft_add(draft, SLICE("whole"), &err), ERR_OK);
    assert_int_equal(chunk_draft_put(draft, "a.json.gz", &err), ERR_OK);

    assert_holds(place, "chunks/a.json.gz", "half whole");
    chunk_draft_free(draft);
    assert_holds(place, "chunks/a.json.gz", "half whole");
    assert_int_equal(count(place, "chunks"), 1);
    free(path);
}

static void
can_be_read_by_others(void **state)
{
    struct place *place = *state;
    struct stat status;
    put(place, "a.json.gz", "x");
    char *path = temp_path(&place->dir, "chunks/a.json.gz");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    free(path);
}

static void
keeps_the_object_that_is_there(void **state)
{
    struct place *place = *state;
    put(place, "a.json.gz", "first");
    put(place, "a.json.gz", "second");
    assert_holds(place, "chunks/a.json.gz", "first");
    assert_int_equal(count(place, "chunks"), 1);
}

static void
leaves_nothing_of_a_draft_that_was_not_put(void **state)
{
    struct place *place = *state;
    chunk_draft_free(draft_of(place, "x"));
    assert_int_equal(count(place, "chunks"), 0);
}

static void
has_a_place_for_traces(void **state)
{
    struct place *place = *state;
    struct chunk_draft *draft = NULL;
    struct err err = {0};
    assert_int_equal(chunk_draft_new(place->store, CHUNK_PLACE_TRACES, &draft, &err),
                     ERR_OK);
    assert_int_equal(chunk_draft_add(draft, SLICE("trace"), &err), ERR_OK);
    assert_int_equal(chunk_draft_put(draft, "abc", &err), ERR_OK);
    chunk_draft_free(draft);
    assert_holds(place, "traces/abc", "trace");
}

static void
names_its_root_without_a_slash_at_the_end(void **state)
{
    struct place *place = *state;
    char url[512];
    snprintf(url, sizeof url, "file://%s", place->dir.path);
    assert_string_equal(chunk_store_root(place->store), url);
    assert_string_equal(chunk_store_folder(place->store), place->dir.path);
}

static void
makes_no_root_that_is_away(void **state)
{
    struct place *place = *state;
    char url[512];
    struct chunk_draft *draft = NULL;
    struct err err = {0};
    snprintf(url, sizeof url, "file://%s/absent", place->dir.path);
    struct chunk_store *store = open_store(url);

    enum err_kind kind = chunk_draft_new(store, CHUNK_PLACE_CHUNKS, &draft, &err);

    assert_int_equal(kind, ERR_RETRY);
    assert_string_equal(err.code, "store_unavailable");
    assert_string_equal(err.final_code, "output_failed");
    assert_int_equal(count(place, "."), 0);
    chunk_store_free(store);
}

static void
tries_a_full_disk_again(void **state)
{
    struct place *place = *state;
    struct chunk_draft *draft = draft_of(place, "x");
    struct err err = {0};
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    int fd = -1;
    for (int i = 3; i < full && fd < 0; i++) {
        char link[64];
        char target[4096] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", i);
        if (readlink(link, target, sizeof target - 1) > 0 && strstr(target, ".draft."))
            fd = i;
    }
    assert_true(fd >= 0);
    assert_int_equal(dup2(full, fd), fd);
    close(full);

    enum err_kind kind = chunk_draft_add(draft, SLICE("more"), &err);

    assert_int_equal(kind, ERR_RETRY);
    assert_string_equal(err.code, "store_unavailable");
    assert_non_null(strstr(err.msg, "No space left"));
    chunk_draft_free(draft);
    assert_int_equal(count(place, "chunks"), 0);
}

static void
refuses_an_address_that_names_no_folder(void **state)
{
    static const char *const urls[] = {
        "",           "/var/store", "file://store", "file://other/x", "ftp://host/x",
        "file:///a%0"};
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct chunk_store *store = NULL;
        struct err err = {0};
        assert_int_equal(
            chunk_store_new(&(struct chunk_store_settings){.url = urls[i]}, &store, &err),
            ERR_FATAL);
        assert_string_equal(err.code, "bad_value");
        assert_int_equal(err.exit_code, EXIT_CONFIG);
        assert_null(store);
    }
}

/* --- s3:// ------------------------------------------------------------------------- */

static const char secret_key[] = "wJalrXUtnFEMI";

struct cloud {
    struct canned_http *server;
    struct remote_settings remote;
    struct chunk_store *store;
};

static int
set_up_cloud(void **state)
{
    struct cloud *cloud = calloc(1, sizeof *cloud);
    struct err err = {0};
    cloud->server = canned_http_start(NULL);
    cloud->remote = (struct remote_settings){
        .connect_timeout_ms = 60000,
        .stall_timeout_ms = 60000,
        .s3 = {.endpoint = canned_http_url(cloud->server),
               .region = "us-east-1",
               .access_key = "AKIA",
               .secret_key = secret_key},
    };
    const struct chunk_store_settings settings = {.url = "s3://bucket/a%20b/",
                                                  .remote = &cloud->remote};
    assert_int_equal(chunk_store_new(&settings, &cloud->store, &err), ERR_OK);
    *state = cloud;
    return 0;
}

static int
tear_down_cloud(void **state)
{
    struct cloud *cloud = *state;
    chunk_store_free(cloud->store);
    canned_http_stop(cloud->server);
    free(cloud);
    return 0;
}

static enum err_kind
upload(struct cloud *cloud, const char *text, struct err *err)
{
    struct chunk_draft *draft = NULL;
    *err = (struct err){0};
    assert_int_equal(chunk_draft_new(cloud->store, CHUNK_PLACE_CHUNKS, &draft, err),
                     ERR_OK);
    assert_int_equal(chunk_draft_add(draft, slice_of(text), err), ERR_OK);
    enum err_kind kind = chunk_draft_put(draft, "abc.json.gz", err);
    chunk_draft_free(draft);
    return kind;
}

static const char *
header_of(void *state, const char *name)
{
    return canned_http_last_header(state, name);
}

static void
sends_the_whole_object_with_its_digest_unless_it_is_there(void **state)
{
    struct cloud *cloud = *state;
    struct err err;
    char sha256[DIGEST_HEX];
    const struct canned_answer taken = {.method = "PUT", .status = 200};
    canned_http_answer(cloud->server, &taken, 1);

    assert_int_equal(upload(cloud, "packed", &err), ERR_OK);

    digest_hex(SLICE("packed"), sha256);
    assert_string_equal(canned_http_last_line(cloud->server),
                        "PUT /bucket/a b/chunks/abc.json.gz");
    assert_string_equal(canned_http_last_body(cloud->server), "packed");
    assert_string_equal(canned_http_last_header(cloud->server, "If-None-Match"), "*");
    assert_string_equal(canned_http_last_header(cloud->server, "Content-Length"), "6");
    assert_string_equal(canned_http_last_header(cloud->server, "x-amz-content-sha256"),
                        sha256);
    assert_int_equal(canned_http_requests(cloud->server), 1);
}

static void
signs_what_it_sends(void **state)
{
    struct cloud *cloud = *state;
    struct err err;
    const struct canned_answer taken = {.method = "PUT", .status = 200};
    canned_http_answer(cloud->server, &taken, 1);
    assert_int_equal(upload(cloud, "packed", &err), ERR_OK);
    const struct sigv4_request request = {
        .line = "PUT /bucket/a%20b/chunks/abc.json.gz",
        .authorization = canned_http_last_header(cloud->server, "Authorization"),
        .header = header_of,
        .state = cloud->server,
    };
    assert_non_null(strstr(request.authorization, "if-none-match"));
    assert_true(sigv4_is_right(&request, secret_key));
}

static void
sends_an_object_of_nothing(void **state)
{
    struct cloud *cloud = *state;
    struct err err;
    const struct canned_answer taken = {.method = "PUT", .status = 200};
    canned_http_answer(cloud->server, &taken, 1);
    assert_int_equal(upload(cloud, "", &err), ERR_OK);
    assert_string_equal(canned_http_last_header(cloud->server, "Content-Length"), "0");
}

static void
sends_more_than_one_piece(void **state)
{
    struct cloud *cloud = *state;
    struct err err;
    static char text[60000];
    memset(text, 'x', sizeof text - 1);
    const struct canned_answer taken = {.method = "PUT", .status = 200};
    canned_http_answer(cloud->server, &taken, 1);
    assert_int_equal(upload(cloud, text, &err), ERR_OK);
    assert_string_equal(canned_http_last_body(cloud->server), text);
}

static void
keeps_what_is_there_already(void **state)
{
    struct cloud *cloud = *state;
    struct err err;
    const struct canned_answer there = {
        .status = 412, .body = "<Error><Code>PreconditionFailed</Code></Error>"};
    canned_http_answer(cloud->server, &there, 1);
    assert_int_equal(upload(cloud, "packed", &err), ERR_OK);
    assert_int_equal(canned_http_requests(cloud->server), 1);
}

static void
looks_first_where_the_condition_is_not_known(void **state)
{
    struct cloud *cloud = *state;
    struct err err;
    const struct canned_answer unknown[] = {
        {.method = "PUT", .without = "If-None-Match", .status = 200},
        {.method = "PUT", .status = 501},
        {.method = "HEAD", .status = 404},
    };
    canned_http_answer(cloud->server, unknown, 3);
    assert_int_equal(upload(cloud, "packed", &err), ERR_OK);
    assert_int_equal(canned_http_requests(cloud->server), 3);
    assert_string_equal(canned_http_last_body(cloud->server), "packed");

    const struct canned_answer there[] = {
        {.method = "PUT", .status = 501},
        {.method = "HEAD", .status = 200},
    };
    canned_http_answer(cloud->server, there, 2);
    assert_int_equal(upload(cloud, "packed", &err), ERR_OK);
    assert_int_equal(canned_http_requests(cloud->server), 5);
}

static void
tries_a_store_in_trouble_again(void **state)
{
    static const unsigned statuses[] = {301, 400, 403, 404, 409, 500, 503};
    struct cloud *cloud = *state;
    struct err err;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const struct canned_answer answer = {
            .status = statuses[i], .body = "<Error><Code>SlowDown</Code></Error>"};
        canned_http_answer(cloud->server, &answer, 1);
        assert_int_equal(upload(cloud, "packed", &err), ERR_RETRY);
        assert_string_equal(err.code, "store_unavailable");
        assert_string_equal(err.final_code, "output_failed");
        assert_non_null(strstr(err.msg, "(SlowDown)"));
        assert_null(strstr(err.msg, secret_key));
    }
    canned_http_refuse(cloud->server);
    assert_int_equal(upload(cloud, "packed", &err), ERR_RETRY);
    assert_string_equal(err.code, "store_unavailable");
}

static void
is_no_folder_when_it_is_a_bucket(void **state)
{
    struct cloud *cloud = *state;
    assert_string_equal(chunk_store_root(cloud->store), "s3://bucket/a%20b");
    assert_null(chunk_store_folder(cloud->store));
}

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CLOUD_TEST(name)                                                                 \
    cmocka_unit_test_setup_teardown(name, set_up_cloud, tear_down_cloud)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(shows_an_object_only_once_it_is_put),
        PLACE_TEST(can_be_read_by_others),
        PLACE_TEST(keeps_the_object_that_is_there),
        PLACE_TEST(leaves_nothing_of_a_draft_that_was_not_put),
        PLACE_TEST(has_a_place_for_traces),
        PLACE_TEST(names_its_root_without_a_slash_at_the_end),
        PLACE_TEST(makes_no_root_that_is_away),
        PLACE_TEST(tries_a_full_disk_again),
        cmocka_unit_test(refuses_an_address_that_names_no_folder),
        CLOUD_TEST(sends_the_whole_object_with_its_digest_unless_it_is_there),
        CLOUD_TEST(signs_what_it_sends),
        CLOUD_TEST(sends_an_object_of_nothing),
        CLOUD_TEST(sends_more_than_one_piece),
        CLOUD_TEST(keeps_what_is_there_already),
        CLOUD_TEST(looks_first_where_the_condition_is_not_known),
        CLOUD_TEST(tries_a_store_in_trouble_again),
        CLOUD_TEST(is_no_folder_when_it_is_a_bucket),
    };
    return cmocka_run_group_tests_name("chunk_store", tests, NULL, NULL);
}
