/* SPDX-License-Identifier: Apache-2.0 */
/* The claim check: what is fetched, what is refused, and with which code. */
#include "claim.h"

#include "unit.h"

#include "digest.h"

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
    place->limits =
        (struct claim_limits){{place->roots, 1}, 100, "tuning_event_malformed"};
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
knows_only_the_scheme_file(void **state)
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

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(fetches_a_file_below_a_root),
        PLACE_TEST(knows_only_the_scheme_file),
        PLACE_TEST(refuses_a_size_that_can_not_be),
        PLACE_TEST(stays_below_its_roots),
        PLACE_TEST(retries_what_is_not_there_yet),
        PLACE_TEST(retries_what_is_no_file),
        PLACE_TEST(refuses_other_bytes_than_claimed),
        PLACE_TEST(says_when_it_may_not_read),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
