/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What feed remembers (events.md 9): which files went to which cluster, and as which
 * event. An LMDB file for each (cluster id, root). What is put is written by
 * sent_commit(); a crash before it forgets, so the files are sent again.
 */
#pragma once

#include "digest.h"
#include "err.h"

#include <stdbool.h>
#include <stdint.h>

struct sent;

/* A file as it was when it was sent. */
struct sent_file {
    int64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    char sha256[DIGEST_HEX];
};

/*
 * Opens, or makes, the memory of `root` on the cluster in `folder`. ERR_FATAL
 * "sent_unusable" naming the file and what to do.
 */
struct sent *
sent_open(const char *folder, const char *cluster_id, const char *root, struct err *err);
/* What was not committed is forgotten. */
void sent_free(struct sent *sent);
/* Path of the file. Borrowed. */
const char *sent_path(const struct sent *sent);

/* Looks a file up; `*ret_found` false when it was never sent. */
enum err_kind sent_get_file(struct sent *sent,
                            const char *path,
                            struct sent_file *ret_file,
                            bool *ret_found,
                            struct err *err);
/* The event_id that a workspace was last sent as. */
enum err_kind sent_get_event(struct sent *sent,
                             const char *workspace,
                             char ret_id[DIGEST_HEX],
                             bool *ret_found,
                             struct err *err);

enum err_kind sent_put_file(struct sent *sent,
                            const char *path,
                            const struct sent_file *file,
                            struct err *err);
/* Also counts the event as delivered. */
enum err_kind sent_put_event(struct sent *sent,
                             const char *workspace,
                             const char id[DIGEST_HEX],
                             struct err *err);
/* Entries put and not yet written. */
size_t sent_pending(const struct sent *sent);
/* Writes them, synced to the disk. ERR_FATAL "sent_unusable". */
enum err_kind sent_commit(struct sent *sent, struct err *err);

/* Events delivered in the life of this memory, as far as committed. */
uint64_t sent_delivered(const struct sent *sent);
/* Forgets everything. */
enum err_kind sent_forget(struct sent *sent, struct err *err);
