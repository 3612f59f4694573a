/* SPDX-License-Identifier: Apache-2.0 */
/* The in-work journal: a mapped file of slots and counts. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"

enum { TOPIC_BYTES = 256, PATH_BYTES = 4096 };

static const char magic[8] = "HEDJRN1\n";

/* `filled` is written last, and cleared first: a torn slot is an empty one. */
struct slot {
    atomic_uint filled;
    int32_t partition;
    int64_t offset;
};

struct crash {
    uint32_t count; /* 0: free */
    int32_t partition;
    int64_t offset;
};

struct content {
    char magic[sizeof magic];
    char topic[TOPIC_BYTES];
    struct slot slots[JOURNAL_LANES];
    struct crash crashes[JOURNAL_CRASHES];
};

struct journal {
    struct content *content; /* mapped */
    int fd;
};

static struct crash *
find_crash(const struct journal *journal, int32_t partition, int64_t offset)
{
    for (size_t i = 0; i < JOURNAL_CRASHES; i++) {
        struct crash *crash = &journal->content->crashes[i];
        if (crash->count > 0 && crash->partition == partition && crash->offset == offset)
            return crash;
    }
    return NULL;
}

/* A free place, or that of the record with the fewest crashes. */
static struct crash *
place_for_crash(const struct journal *journal)
{
    struct crash *place = &journal->content->crashes[0];
    for (size_t i = 1; i < JOURNAL_CRASHES && place->count > 0; i++)
        if (journal->content->crashes[i].count < place->count)
            place = &journal->content->crashes[i];
    return place;
}

static void
count_crash(struct journal *journal, const struct slot *slot)
{
    struct crash *crash = find_crash(journal, slot->partition, slot->offset);
    if (!crash) {
        crash = place_for_crash(journal);
        *crash = (struct crash){0, slot->partition, slot->offset};
    }
    crash->count++;
}

/* A record may be in two lanes, when its partition went and came back while a job had it;
 * the process has died once all the same. */
static bool
is_counted(const struct content *content, int lane)
{
    const struct slot *slot = &content->slots[lane];
    for (int i = 0; i < lane; i++) {
        const struct slot *other = &content->slots[i];
        if (atomic_load(&other->filled) && other->partition == slot->partition &&
            other->offset == slot->offset)
            return true;
    }
    return false;
}

static void
take_stock(struct journal *journal, const char *topic)
{
    struct content *content = journal->content;
    if (memcmp(content->magic, magic, sizeof magic) != 0 ||
        strncmp(content->topic, topic, TOPIC_BYTES) != 0) {
        memset(content, 0, sizeof *content);
        snprintf(content->topic, TOPIC_BYTES, "%s", topic);
        memcpy(content->magic, magic, sizeof magic);
        return;
    }
    for (int lane = 0; lane < JOURNAL_LANES; lane++)
        if (atomic_load(&content->slots[lane].filled) && !is_counted(content, lane))
            count_crash(journal, &content->slots[lane]);
    for (int lane = 0; lane < JOURNAL_LANES; lane++)
        atomic_store(&content->slots[lane].filled, 0);
}

/* The whole of it is taken now: a full disk must not become a signal later. */
static enum err_kind
map(struct journal *journal, const char *path, struct err *err)
{
    journal->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int failed = journal->fd < 0
                     ? errno
                     : posix_fallocate(journal->fd, 0, (off_t)sizeof *journal->content);
    void *content = MAP_FAILED;
    if (!failed) {
        content = mmap(NULL, sizeof *journal->content, PROT_READ | PROT_WRITE, MAP_SHARED,
                       journal->fd, 0);
        failed = content == MAP_FAILED ? errno : 0;
    }
    if (failed)
        return err_fatal(err, EXIT_CONFIG, "state_dir_unusable",
                         "the journal %s can't be written: %s; set state_dir", path,
                         strerror(failed));
    journal->content = content;
    return ERR_OK;
}

struct journal *
journal_open(const char *state_dir,
             const char *instance,
             const char *topic,
             struct err *err)
{
    char path[PATH_BYTES];
    char *dir = config_state_dir(state_dir, "journals", true, err);
    struct journal *journal = dir ? calloc(1, sizeof *journal) : NULL;
    if (dir && !journal)
        err_no_memory(err, "the journal");
    if (journal) {
        snprintf(path, sizeof path, "%s/%s.journal", dir, instance);
        journal->fd = -1;
        if (map(journal, path, err)) {
            journal_close(journal);
            journal = NULL;
        } else {
            take_stock(journal, topic);
        }
    }
    free(dir);
    return journal;
}

void
journal_close(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->content)
        munmap(journal->content, sizeof *journal->content);
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal);
}

void
journal_enter(struct journal *journal, int lane, int32_t partition, int64_t offset)
{
    if (!journal)
        return;
    struct slot *slot = &journal->content->slots[lane];
    slot->partition = partition;
    slot->offset = offset;
    atomic_store_explicit(&slot->filled, 1, memory_order_release);
}

void
journal_leave(struct journal *journal, int lane)
{
    if (journal)
        atomic_store_explicit(&journal->content->slots[lane].filled, 0,
                              memory_order_release);
}

unsigned
journal_crashes(const struct journal *journal, int32_t partition, int64_t offset)
{
    const struct crash *crash = journal ? find_crash(journal, partition, offset) : NULL;
    return crash ? crash->count : 0;
}

void
journal_forget(struct journal *journal, int32_t partition, int64_t committed)
{
    for (size_t i = 0; journal && i < JOURNAL_CRASHES; i++) {
        struct crash *crash = &journal->content->crashes[i];
        if (crash->count > 0 && crash->partition == partition &&
            crash->offset < committed)
            crash->count = 0;
    }
}
