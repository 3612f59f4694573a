/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that remembers which dead letters were requeued or dropped: one for each
 * cluster, appended to and synced, held by a lock while a command acts.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "marks.h"

struct dead_journal;

/* Path of the journal of `cluster_id` in `folder`; malloc()ed, NULL without memory. */
char *dead_journal_path(const char *folder, const char *cluster_id);
/*
 * Reads the marks of `cluster_id`; a journal that is not there has none. ERR_FATAL
 * EXIT_CONFIG "journal_unreadable", and the errors of marks_read().
 */
enum err_kind dead_journal_read(const char *folder,
                                const char *cluster_id,
                                struct marks *ret_marks,
                                struct err *err);
/*
 * Opens it for writing, makes it when needed, and reads it. ERR_FATAL EXIT_TRY_AGAIN
 * "journal_busy" while another command acts, "journal_unwritable"; and as above.
 */
struct dead_journal *dead_journal_open(const char *folder,
                                       const char *cluster_id,
                                       struct marks *ret_marks,
                                       struct err *err);
void dead_journal_close(struct dead_journal *journal);
/*
 * Appends the lines and empties them; when it returns they are on the disk. ERR_FATAL
 * EXIT_TRY_AGAIN "journal_unwritable": none of them counts.
 */
enum err_kind
dead_journal_append(struct dead_journal *journal, struct buf *lines, struct err *err);
