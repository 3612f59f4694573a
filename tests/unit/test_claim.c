/* SPDX-License-Identifier: Apache-2.0 */
/* The claim check: what is fetched, what is refused, and with which code. */
#include "claim.h"
#include "claim_stream.h"

#include "unit.h"

#include "digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that may be read, one beside it, and a claim of a file. */
struct place {
    char base[64];
    char root[96];
    char outside[96];
    const char *roots[1];
    struct claim_limits limits;
    struct arena arena;
    char sha256[DIGEST_HEX];
    char uri[256];
};

static void
write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int
set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->base, "/tmp/heddle-claim-XXXXXX");
    assert_non_null(mkdtemp(place->base));
    snprintf(place->root, sizeof place->root, "%s/root", place->base);
    snprintf(place->outside, sizeof place->outside, "%s/rooted", place->base);
    assert_int_equal(mkdir(place->root, 0700), 0);
    assert_int_equal(mkdir(place->outside, 0700), 0);
    write_file(place->root, "a b%.json", "hello");
    write_file(place->outside, "secret", "hello");
    place->roots[0] = place->root;
    place->limits = (struct claim_limits){.roots = {place->roots, 1},
                                          .max_bytes = 100,
                                          .malformed = "tuning_event_malformed"};
    digest_hex(SLICE("hello"), place->sha256);
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place->base);
    assert_int_equal(system(command), 0);
    arena_done(&place->arena);
    free(place);
    return 0;
}

static enum err_kind
fetch(struct place *place,
      const char *uri,
      int64_t size,
      struct slice *bytes,
      struct err *err)
{
    struct claim claim = {slice_of(uri), size, slice_of(place->sha256)};
    return claim_fetch(&place->limits, &claim, "result", &place->arena, bytes, err);
}

static void
assert_refused(struct place *place,
               const char *uri,
               int64_t size,
               enum err_kind kind,
               const char *code)
{
    struct slice bytes;
    struct err err = {0};
    assert_int_equal(fetch(place, uri, size, &bytes, &err), kind);
    assert_string_equal(err.code, code);
    assert_string_equal(err.stage, "gather");
    if (kind == ERR_RETRY)
        assert_string_equal(err.final_code, code);
}

static const char *
uri_of(const char *folder, const char *name)
{
    static char uri[256];
    snprintf(uri, sizeof uri, "file://%s/%s", folder, name);
    return uri;
}

static void
fetches_a_file_below_a_root(void **state)
{
    struct place *place = *state;
    struct slice bytes = {0};
    struct err err = {0};

    enum err_kind kind =
        fetch(place, uri_of(place->root, "a%20b%25.json"), 5, &bytes, &err);

    assert_int_equal(kind, ERR_OK);
    assert_true(slice_is(bytes, "hello"));
}

static void
reaches_for_files_alone_without_settings_of_servers(void **state)
{
    struct place *place = *state;
    assert_refused(place, "s3://bucket/key", 5, ERR_RECORD, "tuning_event_malformed");
    assert_refused(place, "/tmp/x", 5, ERR_RECORD, "tuning_event_malformed");
    assert_refused(place, "file://other/x", 5, ERR_RECORD, "tuning_event_malformed");
    assert_refused(place, "file:///x%0", 5, ERR_RECORD, "tuning_event_malformed");
    assert_refused(place, "file:///x%00", 5, ERR_RECORD, "tuning_event_malformed");
}

static void
refuses_a_size_that_can_not_be(void **state)
{
    struct place *place = *state;
    const char *uri = uri_of(place->root, "a%20b%25.json");
    assert_refused(place, uri, -1, ERR_RECORD, "tuning_event_malformed");
    assert_refused(place, uri, 101, ERR_RECORD, "tuning_event_malformed");
}

static void
stays_below_its_roots(void **state)
{
    struct place *place = *state;
    char link[256];
    char target[256];
    snprintf(link, sizeof link, "%s/link", place->root);
    snprintf(target, sizeof target, "%s/secret", place->outside);
    assert_int_equal(symlink(target, link), 0);

    assert_refused(place, uri_of(place->outside, "secret"), 5, ERR_RECORD,
                   "tuning_event_malformed");
    assert_refused(place, uri_of(place->root, "../rooted/secret"), 5, ERR_RECORD,
                   "tuning_event_malformed");
    assert_refused(place, uri_of(place->root, "link"), 5, ERR_RECORD,
                   "tuning_event_malformed");
    assert_refused(place, uri_of(place->outside, "absent"), 5, ERR_RECORD,
                   "tuning_event_malformed");
    place->limits.roots.n = 0;
    assert_refused(place, uri_of(place->root, "a%20b%25.json"), 5, ERR_RECORD,
                   "tuning_event_malformed");
}

static void
retries_what_is_not_there_yet(void **state)
{
    struct place *place = *state;
    assert_refused(place, uri_of(place->root, "absent"), 5, ERR_RETRY, "claim_not_found");
}

static void
retries_what_is_no_file(void **state)
{
    struct place *place = *state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s/folder", place->root);
    assert_int_equal(mkdir(folder, 0700), 0);

    assert_refused(place, uri_of(place->root, "folder"), 5, ERR_RETRY,
                   "claim_unavailable");
}

static void
refuses_other_bytes_than_claimed(void **state)
{
    struct place *place = *state;
    write_file(place->root, "other", "hallo");
    write_file(place->root, "longer", "hello!");

    assert_refused(place, uri_of(place->root, "other"), 5, ERR_RECORD, "claim_mismatch");
    assert_refused(place, uri_of(place->root, "longer"), 5, ERR_RECORD, "claim_mismatch");
}

static void
says_when_it_may_not_read(void **state)
{
    struct place *place = *state;
    char path[256];
    write_file(place->root, "closed", "hello");
    snprintf(path, sizeof path, "%s/closed", place->root);
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() == 0) {
        print_message("root reads everything: as another user\n");
        assert_int_equal(seteuid(65534), 0);
        assert_refused(place, uri_of(place->root, "closed"), 5, ERR_RECORD,
                       "claim_denied");
        assert_int_equal(seteuid(0), 0);
        return;
    }
    assert_refused(place, uri_of(place->root, "closed"), 5, ERR_RECORD, "claim_denied");
}

/* --- streams ----------------------------------------------------------------------- */

/* A stream over `text` in a file below the root, its pieces of two bytes. */
static struct claim_stream *
open_stream(struct place *place, struct claim *claim, const char *text)
{
    struct err err = {0};
    write_file(place->root, "trace", text);
    snprintf(place->uri, sizeof place->uri, "file://%s/trace", place->root);
    digest_hex(slice_of(text), place->sha256);
    *claim = (struct claim){slice_of(place->uri), (int64_t)strlen(text),
                            slice_of(place->sha256)};
    struct claim_stream *stream = claim_stream_new(&place->limits, claim, "trace");
    assert_non_null(stream);
    assert_int_equal(claim_stream_open(stream, &err), ERR_OK);
    return stream;
}

/* Reads at most `max` bytes from the start on. */
static void
pass(struct claim_stream *stream, size_t max, const char *expected)
{
    char bytes[32] = "";
    size_t got = 0;
    size_t len;
    struct err err = {0};
    assert_int_equal(claim_stream_rewind(stream, &err), ERR_OK);
    do {
        assert_int_equal(claim_stream_read(stream, bytes + got, 2, &len, &err), ERR_OK);
        got += len;
    } while (len > 0 && got < max);
    assert_string_equal(bytes, expected);
}

/* A stream over "hello" that was read once, and its digest found right. */
static struct claim_stream *
open_verified(struct place *place, struct claim *claim)
{
    struct err err = {0};
    struct claim_stream *stream = open_stream(place, claim, "hello");
    pass(stream, SIZE_MAX, "hello");
    assert_int_equal(claim_stream_verify(stream, &err), ERR_OK);
    return stream;
}

static void
assert_changed(enum err_kind kind, const struct err *err)
{
    assert_int_equal(kind, ERR_RETRY);
    assert_string_equal(err->code, "trace_changed");
    assert_string_equal(err->final_code, "claim_unavailable");
}

static void
set_time(const struct place *place, int64_t seconds)
{
    char path[256];
    const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    snprintf(path, sizeof path, "%s/trace", place->root);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void
reads_a_file_in_place_as_often_as_wanted(void **state)
{
    struct place *place = *state;
    struct claim claim;
    struct err err = {0};
    struct claim_stream *stream = open_verified(place, &claim);
    pass(stream, SIZE_MAX, "hello");
    assert_int_equal(claim_stream_check(stream, &err), ERR_OK);
    claim_stream_free(stream);
}

static void
verifies_bytes_that_no_pass_has_read(void **state)
{
    struct place *place = *state;
    struct claim claim;
    struct err err = {0};
    struct claim_stream *stream = open_stream(place, &claim, "hello world");
    pass(stream, 4, "hell");
    pass(stream, 2, "he");
    pass(stream, 6, "hello ");
    assert_int_equal(claim_stream_verify(stream, &err), ERR_OK);
    claim_stream_free(stream);

    stream = open_stream(place, &claim, "hello world");
    write_file(place->root, "trace", "hello_world");
    assert_int_equal(claim_stream_verify(stream, &err), ERR_RECORD);
    assert_string_equal(err.code, "claim_mismatch");
    assert_string_equal(err.stage, "gather");
    assert_int_equal(claim_stream_found(stream)->size, 11);
    assert_int_equal(strlen(claim_stream_found(stream)->sha256), 64);
    claim_stream_free(stream);
}

static void
says_what_a_file_of_another_size_is(void **state)
{
    struct place *place = *state;
    struct claim claim = {slice_of(place->uri), 4, slice_of(place->sha256)};
    char sha256[DIGEST_HEX];
    struct err err = {0};
    snprintf(place->uri, sizeof place->uri, "file://%s/a%%20b%%25.json", place->root);
    claim.uri = slice_of(place->uri);
    struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");
    assert_int_equal(claim_stream_open(stream, &err), ERR_RECORD);
    assert_string_equal(err.code, "claim_mismatch");
    digest_hex(SLICE("hello"), sha256);
    assert_int_equal(claim_stream_found(stream)->size, 5);
    assert_string_equal(claim_stream_found(stream)->sha256, sha256);
    claim_stream_free(stream);
}

static void
notices_other_bytes_between_the_passes(void **state)
{
    struct place *place = *state;
    struct claim claim;
    struct err err = {0};
    struct claim_stream *stream = open_verified(place, &claim);

    write_file(place->root, "trace", "hallo");
    set_time(place, 1000);
    pass(stream, SIZE_MAX, "hallo");

    assert_changed(claim_stream_verify(stream, &err), &err);
    err = (struct err){0};
    assert_changed(claim_stream_check(stream, &err), &err);
    claim_stream_free(stream);
}

static void
takes_the_same_bytes_written_again_between_the_passes(void **state)
{
    struct place *place = *state;
    struct claim claim;
    struct err err = {0};
    struct claim_stream *stream = open_verified(place, &claim);
    set_time(place, 1000);
    pass(stream, SIZE_MAX, "hello");
    assert_int_equal(claim_stream_check(stream, &err), ERR_OK);
    claim_stream_free(stream);
}

static void
notices_a_change_during_the_second_pass(void **state)
{
    struct place *place = *state;
    struct claim claim;
    struct err err = {0};
    struct claim_stream *stream = open_verified(place, &claim);
    pass(stream, SIZE_MAX, "hello");
    set_time(place, 1000);
    assert_changed(claim_stream_check(stream, &err), &err);
    claim_stream_free(stream);
}

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(fetches_a_file_below_a_root),
        PLACE_TEST(reaches_for_files_alone_without_settings_of_servers),
        PLACE_TEST(refuses_a_size_that_can_not_be),
        PLACE_TEST(stays_below_its_roots),
        PLACE_TEST(retries_what_is_not_there_yet),
        PLACE_TEST(retries_what_is_no_file),
        PLACE_TEST(refuses_other_bytes_than_claimed),
        PLACE_TEST(says_when_it_may_not_read),
        PLACE_TEST(reads_a_file_in_place_as_often_as_wanted),
        PLACE_TEST(verifies_bytes_that_no_pass_has_read),
        PLACE_TEST(says_what_a_file_of_another_size_is),
        PLACE_TEST(notices_other_bytes_between_the_passes),
        PLACE_TEST(takes_the_same_bytes_written_again_between_the_passes),
        PLACE_TEST(notices_a_change_during_the_second_pass),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
