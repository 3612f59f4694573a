/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of feed: what is committed stays, what is not is forgotten. */
#include "buf.h"
#include "sent.h"
#include "temp_dir.h"

#include "unit.h"

CLEANUP_DEFINE(struct sent, sent_free);

static const struct sent_file file_a = {
    .size = 3,
    .mtime_ns = 1786957200123456789,
    .inode = 77,
    .sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};

static struct sent *
open_at(const struct temp_dir *dir, const char *cluster, const char *root)
{
    struct sent *sent = sent_open(dir->path, cluster, root, NULL);
    assert_non_null(sent);
    return sent;
}

static bool
knows(struct sent *sent, const char *path, struct sent_file *ret_file)
{
    bool found = false;
    assert_int_equal(sent_get_file(sent, path, ret_file, &found, NULL), ERR_OK);
    return found;
}

static void
keeps_what_was_committed(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct sent_file file = {0};
    char id[DIGEST_HEX];
    bool found = false;
    assert_true(temp_dir_make(&dir));
    {
        CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");
        sent_put_file(sent, "/root/a", &file_a, NULL);
        sent_put_event(sent, "/root", file_a.sha256, NULL);
        assert_int_equal(sent_pending(sent), 2);
        assert_int_equal(sent_commit(sent, NULL), ERR_OK);
        assert_int_equal(sent_pending(sent), 0);
    }

    CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");

    assert_true(knows(sent, "/root/a", &file));
    assert_memory_equal(&file, &file_a, sizeof file);
    assert_int_equal(sent_get_event(sent, "/root", id, &found, NULL), ERR_OK);
    assert_true(found);
    assert_string_equal(id, file_a.sha256);
    assert_int_equal(sent_delivered(sent), 1);
}

static void
forgets_what_was_not_committed(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct sent_file file;
    assert_true(temp_dir_make(&dir));
    {
        CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");
        sent_put_file(sent, "/root/a", &file_a, NULL);
    }

    CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");

    assert_false(knows(sent, "/root/a", &file));
    assert_int_equal(sent_delivered(sent), 0);
}

static void
keeps_clusters_and_roots_apart(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct sent_file file;
    assert_true(temp_dir_make(&dir));
    CLEANUP(sent_freep) struct sent *one = open_at(&dir, "c", "/root");
    sent_put_file(one, "/root/a", &file_a, NULL);
    assert_int_equal(sent_commit(one, NULL), ERR_OK);

    CLEANUP(sent_freep) struct sent *cluster = open_at(&dir, "d", "/root");
    CLEANUP(sent_freep) struct sent *root = open_at(&dir, "c", "/roo");

    assert_false(knows(cluster, "/root/a", &file));
    assert_false(knows(root, "/root/a", &file));
    assert_true(knows(one, "/root/a", &file));
}

static void
remembers_paths_longer_than_a_key(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct sent_file file;
    char path[2000], other[2000];
    assert_true(temp_dir_make(&dir));
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    memcpy(other, path, sizeof other);
    other[1500] = 'q';
    CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");

    sent_put_file(sent, path, &file_a, NULL);
    assert_int_equal(sent_commit(sent, NULL), ERR_OK);

    assert_true(knows(sent, path, &file));
    assert_false(knows(sent, other, &file));
}

static void
forgets_everything_when_told(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct sent_file file;
    assert_true(temp_dir_make(&dir));
    CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");
    sent_put_file(sent, "/root/a", &file_a, NULL);
    sent_put_event(sent, "/root", file_a.sha256, NULL);
    assert_int_equal(sent_commit(sent, NULL), ERR_OK);

    assert_int_equal(sent_forget(sent, NULL), ERR_OK);

    assert_false(knows(sent, "/root/a", &file));
    assert_int_equal(sent_delivered(sent), 0);
}

static void
holds_more_than_its_first_map(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    struct sent_file file;
    char path[480];
    assert_true(temp_dir_make(&dir));
    CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");
    memset(path, 'x', sizeof path);

    enum { FILES = 130000 }; /* of 600 bytes: more than 64 MiB */
    for (int i = 0; i < FILES; i++) {
        snprintf(path + 400, 80, "%d", i);
        if (sent_put_file(sent, path, &file_a, NULL))
            fail_msg("entry %d is refused", i);
    }
    assert_int_equal(sent_commit(sent, NULL), ERR_OK);

    assert_true(knows(sent, path, &file));
}

static void
names_a_memory_that_is_no_memory(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir;
    CLEANUP(buf_done) struct buf junk = BUF_INIT;
    struct err err = {0};
    assert_true(temp_dir_make(&dir));
    char *path;
    {
        CLEANUP(sent_freep) struct sent *sent = open_at(&dir, "c", "/root");
        path = strdup(sent_path(sent));
    }
    for (int i = 0; i < 1000; i++)
        buf_add_str(&junk, "this is no memory\n");
    assert_true(temp_write(&dir, path + strlen(dir.path) + 1, buf_text(&junk), 0));

    assert_null(sent_open(dir.path, "c", "/root", &err));

    assert_string_equal(err.code, "sent_unusable");
    assert_non_null(strstr(err.msg, path));
    free(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_committed),
        cmocka_unit_test(forgets_what_was_not_committed),
        cmocka_unit_test(keeps_clusters_and_roots_apart),
        cmocka_unit_test(remembers_paths_longer_than_a_key),
        cmocka_unit_test(forgets_everything_when_told),
        cmocka_unit_test(holds_more_than_its_first_map),
        cmocka_unit_test(names_a_memory_that_is_no_memory),
    };
    return cmocka_run_group_tests_name("sent", tests, NULL, NULL);
}
