/* SPDX-License-Identifier: Apache-2.0 */
/* The store: a batch is on disk as a whole or not at all, whatever ends the process. */
#include "buf.h"
#include "store.h"
#include "temp_dir.h"

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

CLEANUP_DEFINE(struct store, store_close);

enum { SUFFIX = 2, MAX_BYTES = 64 << 20, BATCH_BYTES = 1 << 20 };

/* A value "due 123 ..." wants to be looked at then. */
static int64_t
due_of(void *state, struct slice key_suffix, struct slice value)
{
    (void)state;
    (void)key_suffix;
    long long due_ms = 0;
    char text[32] = "";
    memcpy(text, value.data, value.len < sizeof text ? value.len : sizeof text - 1);
    return sscanf(text, "due %lld", &due_ms) == 1 ? due_ms : STORE_NEVER;
}

static size_t ample_budget = (size_t)1 << 20;

static const struct store_settings settings = {SUFFIX, MAX_BYTES, BATCH_BYTES,
                                               due_of, NULL,      &ample_budget};

static struct store *
open_with(const char *folder, size_t *filter_budget)
{
    struct store *store = NULL;
    struct store_settings own = settings;
    struct err err = {0};
    own.filter_budget = filter_budget;
    if (store_open(folder, &own, &store, &err))
        fail_msg("%s: %s", err.code, err.msg);
    return store;
}

static struct store *
open_at(const char *folder)
{
    return open_with(folder, &ample_budget);
}

static void
put(struct store *store, const char *key, const char *value)
{
    assert_int_equal(store_stage(store, slice_of(key), slice_of(value), NULL), ERR_OK);
    assert_int_equal(store_keep(store, NULL), ERR_OK);
}

static void
commit(struct store *store, int64_t offset)
{
    struct err err = {0};
    if (store_commit(store, offset, &err))
        fail_msg("%s: %s", err.code, err.msg);
}

static void
bring_index_up(struct store *store)
{
    struct err err = {0};
    if (store_index(store, &err))
        fail_msg("%s: %s", err.code, err.msg);
}

static void
assert_value(struct store *store, const char *key, const char *expected)
{
    struct slice value;
    assert_int_equal(store_get(store, slice_of(key), &value, NULL), ERR_OK);
    if (expected)
        assert_true(slice_is(value, expected));
    else
        assert_null(value.data);
}

static enum err_kind
add_record(void *state, struct slice suffix, struct slice value, struct err *err)
{
    struct buf *text = state;
    (void)err;
    buf_addf(text, "%.*s=%.*s ", SLICE_ARG(suffix), SLICE_ARG(value));
    return ERR_OK;
}

static void
assert_group(struct store *store, const char *group, const char *expected)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    assert_int_equal(store_scan(store, slice_of(group), add_record, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), expected);
}

static void
assert_due(struct store *store, int64_t now_ms, const char *expected)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    assert_int_equal(store_due(store, now_ms, 10, add_record, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), expected);
}

/* --- reading and writing
 * ---------------------------------------------------------------- */

static void
remove_key(struct store *store, const char *key)
{
    assert_int_equal(store_stage(store, slice_of(key), (struct slice){0}, NULL), ERR_OK);
    assert_int_equal(store_keep(store, NULL), ERR_OK);
}

/* The index, what it does not have yet, and the batch: each has a key of its own, hides
 * one below, and removes one. */
static void
reads_through_index_and_batch(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    for (char key[] = "group#1"; key[6] <= '6'; key[6]++)
        put(store, key, "indexed");
    commit(store, 7);
    bring_index_up(store);
    put(store, "group#2", "waits");
    remove_key(store, "group#3");
    put(store, "group#4", "waits");
    put(store, "group#7", "waits");
    put(store, "fresh#2", "waits");
    put(store, "fresh#3", "waits");
    commit(store, 8);
    remove_key(store, "fresh#3");
    commit(store, 9);
    put(store, "group#4", "batch");
    remove_key(store, "group#5");
    put(store, "group#3", "again");
    put(store, "group#8", "batch");
    put(store, "fresh#1", "batch");

    assert_group(store, "group",
                 "#1=indexed #2=waits #3=again #4=batch #6=indexed #7=waits #8=batch ");
    assert_group(store, "fresh", "#1=batch #2=waits ");
    assert_value(store, "group#1", "indexed");
    assert_value(store, "group#2", "waits");
    assert_value(store, "group#4", "batch");
    assert_value(store, "group#5", NULL);
    assert_value(store, "fresh#2", "waits");
    assert_value(store, "fresh#3", NULL);

    store_abort(store);
    static const char left[] =
        "#1=indexed #2=waits #4=waits #5=indexed #6=indexed #7=waits ";
    assert_group(store, "group", left);
    bring_index_up(store);
    assert_group(store, "group", left);
    assert_group(store, "fresh", "#2=waits ");
    assert_value(store, "group#3", NULL);
}

/* Deadlines show a record that is there twice. */
static void
keeps_one_record_of_a_key_whenever_the_index_is_brought_up(void **state)
{
    (void)state;
    for (int when = 0; when < 8; when++) {
        CLEANUP(temp_dir_done) struct temp_dir dir;
        assert_true(temp_dir_make(&dir));
        CLEANUP(store_closep) struct store *store = open_at(dir.path);
        put(store, "g#1", "due 1");
        if (when & 1)
            bring_index_up(store);
        commit(store, 1);
        if (when & 2)
            bring_index_up(store);
        put(store, "g#1", "due 2");
        put(store, "g#2", "due 3");
        if (when & 4)
            bring_index_up(store);
        commit(store, 2);
        assert_due(store, 10, "#1=due 2 #2=due 3 ");
        assert_group(store, "g", "#1=due 2 #2=due 3 ");
        bring_index_up(store);
        remove_key(store, "g#1");
        commit(store, 3);
        assert_due(store, 10, "#2=due 3 ");
        assert_group(store, "g", "#2=due 3 ");
    }
}

static void
reads_through_the_open_batch(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "group#1", "disk");
    put(store, "group#3", "gone");
    put(store, "grou#2", "other");
    commit(store, 7);

    put(store, "group#2", "batch");
    put(store, "group#1", "newer");
    remove_key(store, "group#3");

    assert_group(store, "group", "#1=newer #2=batch ");
    assert_group(store, "grou", "#2=other ");
    assert_value(store, "group#3", NULL);
    assert_value(store, "group#2", "batch");
    assert_int_equal(store_offset(store), 7);
}

static void
forgets_an_aborted_batch(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "g#1", "one");
    commit(store, 1);
    put(store, "g#1", "two");
    put(store, "g#2", "new");

    store_abort(store);

    assert_false(store_changed(store));
    assert_group(store, "g", "#1=one ");
}

static void
forgets_what_a_refused_record_staged(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "g#1", "one");
    assert_int_equal(store_stage(store, SLICE("g#2"), SLICE("refused"), NULL), ERR_OK);

    store_drop(store);
    put(store, "g#3", "three");

    assert_group(store, "g", "#1=one #3=three ");
}

static void
keeps_a_group_of_any_length(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    static char name[100002];
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    memset(name, 'k', sizeof name - 3);
    memcpy(name + sizeof name - 3, "#1", 3);
    put(store, name, "value");
    put(store, "#1", "of the empty group");
    commit(store, 1);

    assert_value(store, name, "value");
    assert_group(store, "", "#1=of the empty group ");
}

static enum err_kind
add_change(void *state, struct slice key, struct slice value, struct err *err)
{
    struct buf *text = state;
    (void)err;
    buf_addf(text, "%.*s=%.*s ", SLICE_ARG(key),
             SLICE_ARG(value.data ? value : SLICE("removed")));
    return ERR_OK;
}

static void
names_each_changed_key_once_with_its_last_value(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "g#1", "a");
    put(store, "g#2", "b");
    put(store, "g#1", "c");
    assert_int_equal(store_stage(store, SLICE("g#2"), (struct slice){0}, NULL), ERR_OK);
    assert_int_equal(store_keep(store, NULL), ERR_OK);

    assert_int_equal(store_changes(store, add_change, &text, NULL), ERR_OK);

    assert_string_equal(buf_text(&text), "g#1=c g#2=removed ");
}

static void
names_only_what_changed_since_it_was_asked(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "g#1", "a");
    put(store, "g#2", "b");
    assert_int_equal(store_changes(store, add_change, &text, NULL), ERR_OK);
    put(store, "g#2", "c");
    put(store, "g#3", "d");
    buf_reset(&text);

    assert_int_equal(store_changes(store, add_change, &text, NULL), ERR_OK);

    assert_string_equal(buf_text(&text), "g#2=c g#3=d ");
    assert_true(store_changed(store));
}

/* Each value is due at its number. */
static void
assert_model_due(struct store *store, const int *values, size_t n, int until)
{
    CLEANUP(buf_done) struct buf expected = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    for (int due = 1; due <= until; due++)
        for (size_t k = 0; k < n; k++)
            if (values[k] == due)
                buf_addf(&expected, "#%zu=due %d ", k % 10, due);
    assert_int_equal(store_due(store, until, n, add_record, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), buf_text(&expected));
}

/* Against an array, with random keys, batches that end either way, and reopening. */
static void
agree_with_a_plain_model(size_t budget)
{
    enum { KEYS = 60, STEPS = 4000 };
    CLEANUP(temp_dir_done) struct temp_dir dir;
    int disk[KEYS] = {0};
    int now[KEYS] = {0};
    unsigned random = 12345;
    assert_true(temp_dir_make(&dir));
    struct store *store = open_with(dir.path, &budget);
    for (int step = 1; step <= STEPS; step++) {
        random = random * 1103515245 + 12345;
        unsigned k = (random >> 8) % KEYS;
        char key[16];
        char value[16];
        snprintf(key, sizeof key, "g%02u#%u", k / 10, k % 10);
        snprintf(value, sizeof value, "due %d", step);
        bool removes = (random >> 20) % 4 == 0;
        now[k] = removes ? 0 : step;
        put(store, key, removes ? NULL : value);
        if ((random >> 24) % 16 == 0) {
            commit(store, step);
            memcpy(disk, now, sizeof disk);
            if (step % 8 == 0)
                assert_model_due(store, disk, KEYS, step);
        } else if ((random >> 24) % 16 == 1) {
            store_abort(store);
            memcpy(now, disk, sizeof disk);
        } else if ((random >> 24) % 64 == 2) {
            store_close(store);
            store = open_with(dir.path, &budget);
            memcpy(now, disk, sizeof disk);
        } else if ((random >> 24) % 64 == 3) {
            bring_index_up(store); /* in the middle of a batch */
        }
        unsigned g = (random >> 12) % (KEYS / 10);
        CLEANUP(buf_done) struct buf expected = BUF_INIT;
        char group[8];
        snprintf(group, sizeof group, "g%02u", g);
        for (unsigned i = 0; i < 10; i++)
            if (now[g * 10 + i])
                buf_addf(&expected, "#%u=due %d ", i, now[g * 10 + i]);
        assert_group(store, group, buf_text(&expected));
    }
    store_close(store);
}

static void
agrees_with_a_plain_model(void **state)
{
    (void)state;
    agree_with_a_plain_model((size_t)1 << 20);
}

static void
agrees_with_a_plain_model_without_a_filter(void **state)
{
    (void)state;
    agree_with_a_plain_model(0);
}

enum { GROUPS = 20000, GROUPS_A_BATCH = 1000 };

static void
put_groups(struct store *store, const char *value, int to)
{
    for (int i = 0; i < to; i++) {
        char key[32];
        snprintf(key, sizeof key, "group %d#1", i);
        put(store, key, value);
        if (i % GROUPS_A_BATCH == GROUPS_A_BATCH - 1)
            commit(store, i);
    }
    bring_index_up(store); /* a filter is renewed with it */
}

static void
assert_groups(struct store *store, int from)
{
    for (int i = 0; i < GROUPS; i++) {
        char group[32];
        char key[32];
        snprintf(group, sizeof group, "group %d", i);
        snprintf(key, sizeof key, "group %d#1", i);
        assert_group(store, group, i < from ? "" : "#1=v ");
        assert_value(store, key, i < from ? NULL : "v");
    }
}

/* A filter that is too small, one that is full half-way, and one for all. */
static void
finds_every_group_whatever_its_filter_can_hold(void **state)
{
    (void)state;
    static const size_t budgets[] = {0, (size_t)16 << 10, (size_t)1 << 20};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        CLEANUP(temp_dir_done) struct temp_dir dir;
        size_t budget = budgets[i];
        assert_true(temp_dir_make(&dir));
        struct store *store = open_with(dir.path, &budget);
        put_groups(store, "v", GROUPS);
        assert_groups(store, 0);
        store_close(store);
        assert_int_equal(budget, budgets[i]);

        store = open_with(dir.path, &budget);
        assert_groups(store, 0);
        put_groups(store, NULL, GROUPS - GROUPS_A_BATCH); /* most are forgotten */
        assert_groups(store, GROUPS - GROUPS_A_BATCH);
        assert_true(i == 0 || budget < budgets[i]); /* and the filter is of use again */
        store_close(store);
        assert_int_equal(budget, budgets[i]);
    }
}

static void
says_when_a_batch_has_grown_large(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    static char large[BATCH_BYTES];
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    memset(large, 'x', sizeof large - 1);
    put(store, "g#1", "small");
    assert_false(store_full(store));

    put(store, "g#2", large);

    assert_true(store_full(store));
    commit(store, 1);
    assert_false(store_full(store));
}

/* --- deadlines
 * -------------------------------------------------------------------------- */

static void
gives_what_is_due_by_its_deadline(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "a#1", "due 300");
    put(store, "b#2", "due 20");
    put(store, "c#3", "never");
    put(store, "d#4", "due 1000");
    commit(store, 1);

    assert_due(store, 19, "");
    assert_due(store, 300, "#2=due 20 #1=due 300 ");
    put(store, "b#2", "due 500");
    assert_due(store, 300, "#1=due 300 ");
    commit(store, 2);
    assert_due(store, 600, "#1=due 300 #2=due 500 ");
    put(store, "a#1", NULL);
    commit(store, 3);
    assert_due(store, 600, "#2=due 500 ");
}

static void
is_empty_once_cleared(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    put(store, "a#1", "due 300");
    commit(store, 5);
    put(store, "a#2", "open");

    assert_int_equal(store_clear(store, NULL), ERR_OK);

    assert_group(store, "a", "");
    assert_due(store, 1000, "");
    assert_int_equal(store_offset(store), 0);
}

/* --- what ends a process
 * ---------------------------------------------------------------- */

static void
survives_a_kill_without_the_open_batch(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct store *store = NULL;
        if (store_open(dir.path, &settings, &store, NULL))
            _exit(1);
        store_stage(store, SLICE("g#1"), SLICE("kept"), NULL);
        store_keep(store, NULL);
        store_commit(store, 41, NULL);
        store_stage(store, SLICE("g#1"), SLICE("open"), NULL);
        store_keep(store, NULL);
        raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));

    CLEANUP(store_closep) struct store *store = open_at(dir.path);

    assert_null(store_discarded(store));
    assert_int_equal(store_offset(store), 41);
    assert_value(store, "g#1", "kept");
}

/* What a killed process knew of its index alone is found again, whatever it did: some
 * keys updated, some removed, some removed and put again, the last record among them. */
static void
work_and_die(const char *folder, bool indexes_half_way)
{
    struct store *store = NULL;
    char key[16];
    if (store_open(folder, &settings, &store, NULL))
        _exit(1);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, "first");
    }
    commit(store, 1);
    if (indexes_half_way)
        bring_index_up(store);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "%d#1", i);
        if (i % 4 == 1)
            put(store, key, "updated");
        else if (i % 4 >= 2)
            remove_key(store, key);
    }
    commit(store, 2);
    for (int i = 3; i < 100; i += 4) {
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, "again");
    }
    commit(store, 3);
    remove_key(store, "99#1"); /* by now the last record */
    commit(store, 4);
    raise(SIGKILL);
}

static const char *
value_after_death(int i)
{
    static const char *const values[] = {"first", "updated", NULL, "again"};
    return i == 99 ? NULL : values[i % 4];
}

static void
finds_the_records_of_a_killed_process_again(void **state)
{
    (void)state;
    for (int half_way = 0; half_way < 2; half_way++) {
        CLEANUP(temp_dir_done) struct temp_dir dir;
        int status = 0;
        char key[16];
        assert_true(temp_dir_make(&dir));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            work_and_die(dir.path, half_way == 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));

        for (int opening = 0; opening < 2; opening++) {
            CLEANUP(store_closep) struct store *store = open_at(dir.path);
            assert_int_equal(store_offset(store), opening == 0 ? 4 : 5);
            for (int i = 0; i < 100; i++) {
                snprintf(key, sizeof key, "%d#1", i);
                assert_value(store, key, value_after_death(i));
            }
            put(store, "new#1", "new"); /* may take the number of a removed one */
            commit(store, 5);
            assert_value(store, "99#1", NULL);
            assert_value(store, "new#1", "new");
            bring_index_up(store);
            assert_group(store, "99", "");
            assert_group(store, "new", "#1=new ");
        }
    }
}

static void
make_one(const struct temp_dir *dir)
{
    struct store *store = open_at(dir->path);
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, "some value that fills pages of the file");
    }
    commit(store, 9);
    store_close(store);
}

static void
assert_starts_again(const struct temp_dir *dir)
{
    CLEANUP(store_closep) struct store *store = open_at(dir->path);
    assert_non_null(store_discarded(store));
    assert_int_equal(store_offset(store), 0);
    assert_value(store, "1#1", NULL);
    put(store, "g#1", "new");
    commit(store, 1);
    assert_value(store, "g#1", "new");
}

static void
throws_away_a_file_that_is_no_store(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    char text[9000];
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_true(temp_write(&dir, "data.mdb", text, 0));

    assert_starts_again(&dir);
}

static void
throws_away_a_file_that_was_cut(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    make_one(&dir);
    char *path = temp_path(&dir, "data.mdb");
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(truncate(path, file.st_size / 2), 0);
    free(path);

    assert_starts_again(&dir);
}

/* The mark beside the file says under which boot of the machine it was written. */
static void
throws_away_a_store_that_was_open_when_the_machine_went_down(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    make_one(&dir);
    assert_true(temp_write(&dir, "written", "00000000-an-earlier-boot", 0));

    assert_starts_again(&dir);
}

static void
keeps_a_store_whose_process_died(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    pid_t pid = fork();
    if (pid == 0) {
        struct store *store = open_at(dir.path);
        put(store, "g#1", "kept");
        commit(store, 9);
        _exit(0); /* nothing is closed */
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    CLEANUP(store_closep) struct store *store = open_at(dir.path);

    assert_null(store_discarded(store));
    assert_int_equal(store_offset(store), 9);
    assert_value(store, "g#1", "kept");
}

/* The format is text in the file; the same file with another one is another version. */
static void
throws_away_a_store_of_another_version(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    static const char ours[] = "heddle store 4";
    assert_true(temp_dir_make(&dir));
    make_one(&dir);
    char *path = temp_path(&dir, "data.mdb");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat file;
    assert_int_equal(fstat(fd, &file), 0);
    char *bytes = malloc((size_t)file.st_size);
    assert_int_equal(pread(fd, bytes, (size_t)file.st_size, 0), file.st_size);
    for (char *at = bytes;
         (at = memmem(at, (size_t)(bytes + file.st_size - at), ours, sizeof ours - 1));
         at++)
        at[sizeof ours - 2] = '0';
    assert_int_equal(pwrite(fd, bytes, (size_t)file.st_size, 0), file.st_size);
    close(fd);
    free(bytes);
    free(path);

    assert_starts_again(&dir);
}

static void
says_that_the_file_may_not_grow(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    const struct store_settings small = {SUFFIX, 1 << 20, BATCH_BYTES,
                                         NULL,   NULL,    &ample_budget};
    static char large[2 << 20];
    struct store *store = NULL;
    struct err err = {0};
    assert_true(temp_dir_make(&dir));
    memset(large, 'x', sizeof large - 1);
    assert_int_equal(store_open(dir.path, &small, &store, &err), ERR_OK);
    put(store, "g#1", large);

    assert_int_equal(store_commit(store, 1, &err), ERR_FATAL);

    assert_string_equal(err.code, "store_full");
    assert_int_equal(err_exit_code(&err), EXIT_CONFIG);
    store_close(store);
}

enum { LARGE_RECORDS = 64, LARGE_BYTES = 64 * 1024 };

static void
put_large_records(struct store *store)
{
    static char large[LARGE_BYTES];
    char key[16];
    snprintf(large, sizeof large, "due 7%*s", LARGE_BYTES - 6, "");
    for (int i = 0; i < LARGE_RECORDS; i++) {
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, large);
    }
}

/* What of it went to the disk before must be found when the changelog brings it again. */
static void
keeps_one_record_of_each_key_of_a_batch_that_failed_half_way(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct store_settings small = settings;
    struct store *store = NULL;
    struct err err = {0};
    small.max_bytes = 2 << 20;
    assert_true(temp_dir_make(&dir));
    assert_int_equal(store_open(dir.path, &small, &store, &err), ERR_OK);
    put(store, "before#1", "whole");
    commit(store, 1);
    put_large_records(store);
    assert_int_equal(store_commit(store, 2, &err), ERR_FATAL);
    assert_string_equal(err.code, "store_full");
    store_close(store);

    store = open_at(dir.path);
    assert_int_equal(store_offset(store), 1);
    put_large_records(store);
    commit(store, 2);

    assert_int_equal(
        store_due(store, 7, (size_t)2 * LARGE_RECORDS, add_record, &text, NULL), ERR_OK);
    assert_int_equal(text.len,
                     (size_t)LARGE_RECORDS * (LARGE_BYTES - 1 + strlen("#1= ")));
    store_close(store);
}

static void
grows_the_file_up_to_its_ceiling(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    static char large[4 << 20];
    assert_true(temp_dir_make(&dir));
    CLEANUP(store_closep) struct store *store = open_at(dir.path);
    memset(large, 'x', sizeof large - 1);

    for (int i = 0; i < 9; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, large);
        commit(store, i);
    }

    assert_value(store, "0#1", large);
    assert_value(store, "8#1", large);
}

/* In a batch that goes to the disk in several steps. */
static void
writes_each_record_once_when_the_file_grows_half_way(void **state)
{
    (void)state;
    enum { RECORDS = 400, LARGE = 64 * 1024 };
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    static char large[LARGE];
    char key[16];
    assert_true(temp_dir_make(&dir));
    struct store *store = open_at(dir.path);
    snprintf(large, sizeof large, "due 7%*s", LARGE - 6, "");
    for (int i = 0; i < RECORDS; i++) {
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, large);
    }
    commit(store, 1);
    assert_int_equal(store_due(store, 7, (size_t)2 * RECORDS, add_record, &text, NULL),
                     ERR_OK);
    assert_int_equal(text.len, (size_t)RECORDS * (sizeof large - 1 + strlen("#1= ")));

    for (int i = 0; i < RECORDS; i++) {
        snprintf(key, sizeof key, "%d#1", i);
        put(store, key, "small");
    }
    commit(store, 2);
    store_close(store);

    store = open_at(dir.path);
    assert_due(store, 1000, "");
    for (int i = 0; i < RECORDS; i++) {
        snprintf(key, sizeof key, "%d#1", i);
        assert_value(store, key, "small");
    }
    store_close(store);
}

static void
names_the_folder_that_it_can_not_make(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct store *store = NULL;
    struct err err = {0};
    assert_true(temp_dir_make(&dir));
    assert_true(temp_write(&dir, "file", "x", 0));
    char *path = temp_path(&dir, "file/store");

    assert_int_equal(store_open(path, &settings, &store, &err), ERR_FATAL);

    assert_string_equal(err.code, "store_unusable");
    assert_non_null(strstr(err.msg, path));
    free(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_through_the_open_batch),
        cmocka_unit_test(reads_through_index_and_batch),
        cmocka_unit_test(keeps_one_record_of_a_key_whenever_the_index_is_brought_up),
        cmocka_unit_test(forgets_an_aborted_batch),
        cmocka_unit_test(forgets_what_a_refused_record_staged),
        cmocka_unit_test(keeps_a_group_of_any_length),
        cmocka_unit_test(names_each_changed_key_once_with_its_last_value),
        cmocka_unit_test(names_only_what_changed_since_it_was_asked),
        cmocka_unit_test(agrees_with_a_plain_model),
        cmocka_unit_test(agrees_with_a_plain_model_without_a_filter),
        cmocka_unit_test(finds_every_group_whatever_its_filter_can_hold),
        cmocka_unit_test(says_when_a_batch_has_grown_large),
        cmocka_unit_test(gives_what_is_due_by_its_deadline),
        cmocka_unit_test(is_empty_once_cleared),
        cmocka_unit_test(survives_a_kill_without_the_open_batch),
        cmocka_unit_test(finds_the_records_of_a_killed_process_again),
        cmocka_unit_test(throws_away_a_file_that_is_no_store),
        cmocka_unit_test(throws_away_a_file_that_was_cut),
        cmocka_unit_test(throws_away_a_store_that_was_open_when_the_machine_went_down),
        cmocka_unit_test(keeps_a_store_whose_process_died),
        cmocka_unit_test(throws_away_a_store_of_another_version),
        cmocka_unit_test(says_that_the_file_may_not_grow),
        cmocka_unit_test(keeps_one_record_of_each_key_of_a_batch_that_failed_half_way),
        cmocka_unit_test(grows_the_file_up_to_its_ceiling),
        cmocka_unit_test(writes_each_record_once_when_the_file_grows_half_way),
        cmocka_unit_test(names_the_folder_that_it_can_not_make),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
