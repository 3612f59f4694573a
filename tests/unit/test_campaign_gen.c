/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's campaign: its tallies are the published ones, whatever the seed. */
#include "buf.h"
#include "campaign_gen.h"
#include "digest.h"
#include "json_scan.h"

#include <stdio.h>

#include "unit.h"

/* What the files say, counted without the generator's tables. */
struct seen {
    size_t results;
    size_t logs;
    size_t rejected_logs;
    size_t bad_json;
    size_t named_backends; /* results that name a backend */
    size_t late_logs;      /* not older than the result that follows */
    size_t sessions;
    char last_session[128];
    int64_t last_log_us;
    struct buf all; /* every path, time and content */
};

static size_t
count_of(struct slice text, const char *needle)
{
    size_t n = 0;
    size_t len = strlen(needle);
    for (size_t i = 0; i + len <= text.len; i++)
        n += memcmp(text.data + i, needle, len) == 0;
    return n;
}

static bool
ends_in(const char *path, const char *end)
{
    return strlen(path) >= strlen(end) &&
           strcmp(path + strlen(path) - strlen(end), end) == 0;
}

static void
note_session(struct seen *seen, const char *path)
{
    int len = (int)(strstr(path, "/runs/gemm_tuning/") - path);
    if (strncmp(seen->last_session, path, (size_t)len) == 0 &&
        seen->last_session[len] == '\0')
        return;
    snprintf(seen->last_session, sizeof seen->last_session, "%.*s", len, path);
    seen->sessions++;
}

static enum err_kind
look(void *state, const struct campaign_file *file, struct err *err)
{
    (void)err;
    struct seen *seen = state;
    note_session(seen, file->path);
    buf_addf(&seen->all, "%s %lld\n", file->path, (long long)file->mtime_us);
    buf_add_slice(&seen->all, file->content);
    if (ends_in(file->path, "/tune.log")) {
        seen->logs++;
        seen->rejected_logs +=
            count_of(file->content, "error: unrecognized arguments") > 0;
        seen->last_log_us = file->mtime_us;
        return ERR_OK;
    }
    enum json_type type = JSON_TYPE_NULL;
    seen->results += ends_in(file->path, "/result.json");
    if (json_scan_check(file->content, &type, NULL) || type != JSON_TYPE_OBJECT)
        seen->bad_json++;
    seen->named_backends += count_of(file->content, "\"backend\"") > 0;
    seen->late_logs += seen->last_log_us >= file->mtime_us;
    seen->last_log_us = 0;
    return ERR_OK;
}

static void
has_the_published_tallies_for_any_seed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct seen seen = {0};
        struct campaign_totals totals;

        assert_int_equal(campaign_generate(seed, look, &seen, &totals, NULL), ERR_OK);

        struct slice all = buf_slice(&seen.all);
        assert_int_equal(seen.results, 388);
        assert_int_equal(seen.logs, 375);
        assert_int_equal(seen.rejected_logs, 93);
        assert_int_equal(seen.bad_json, 0);
        assert_int_equal(seen.late_logs, 0);
        assert_int_equal(seen.named_backends, 4);
        assert_int_equal(seen.sessions, 322 + 9);
        assert_int_equal(
            count_of(all, "{\"tuner\": \"") - count_of(all, "skip_reason\": \"no"), 366);
        assert_int_equal(count_of(all, "\"best_micro_speedup\": "), 366 - 135);
        assert_int_equal(count_of(all, "\"best_micro_speedup\": 1.0,"), 41);
        assert_int_equal(count_of(all, "\"status\": \"ok\",\n"), 320);
        assert_int_equal(totals.traces, 322);
        assert_int_equal(totals.results, 388);
        assert_int_equal(totals.logs, 375);
        assert_int_equal(totals.lost, 9);
        buf_done(&seen.all);
    }
}

static void
digest_of_seed(uint64_t seed, char ret_hex[DIGEST_HEX])
{
    struct seen seen = {0};
    assert_int_equal(campaign_generate(seed, look, &seen, NULL, NULL), ERR_OK);
    digest_hex(buf_slice(&seen.all), ret_hex);
    buf_done(&seen.all);
}

static void
gives_the_same_bytes_for_the_same_seed(void **state)
{
    (void)state;
    char first[DIGEST_HEX], again[DIGEST_HEX], other[DIGEST_HEX];

    digest_of_seed(1, first);
    digest_of_seed(1, again);
    digest_of_seed(2, other);

    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
}

static enum err_kind
refuse_the_tenth(void *state, const struct campaign_file *file, struct err *err)
{
    int *n = state;
    if (++*n < 10)
        return ERR_OK;
    return err_fatal(err, EXIT_TRY_AGAIN, "disk_full", "no room for %s", file->path);
}

static void
ends_when_a_file_can_not_be_written(void **state)
{
    (void)state;
    int n = 0;
    struct err err = {0};

    assert_int_equal(campaign_generate(1, refuse_the_tenth, &n, NULL, &err), ERR_FATAL);

    assert_int_equal(n, 10);
    assert_string_equal(err.code, "disk_full");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_published_tallies_for_any_seed),
        cmocka_unit_test(gives_the_same_bytes_for_the_same_seed),
        cmocka_unit_test(ends_when_a_file_can_not_be_written),
    };
    return cmocka_run_group_tests_name("campaign_gen", tests, NULL, NULL);
}
