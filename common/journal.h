/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was in work when the process died (events.md 9): a small mapped file in the state
 * folder that a kill -9 leaves as it was. A lane's slot is filled just before a record is
 * decoded and cleared after it was derived, so a slot that is found filled at the next
 * start counts one crash for that record. A process that is killed between two records
 * leaves no mark, and a count is forgotten once its offset commits.
 */
#pragma once

#include "err.h"

#include <stdint.h>

/* Crashes after which a record is a dead letter, "crash_loop". */
enum { JOURNAL_CRASH_LIMIT = 3, JOURNAL_LANES = 16, JOURNAL_CRASHES = 64 };

struct journal;

/*
 * Opens the journal of `instance` (instance.h holds its lock) for the records of `topic`
 * and counts what the last process left in work. A file that is none of ours, or of
 * another topic, starts anew. ERR_FATAL EXIT_CONFIG "state_dir_unusable".
 */
struct journal *journal_open(const char *state_dir,
                             const char *instance,
                             const char *topic,
                             struct err *err);
void journal_close(struct journal *journal);

/* Between the two calls the record is in work in this lane. NULL: no journal is kept. */
void journal_enter(struct journal *journal, int lane, int32_t partition, int64_t offset);
void journal_leave(struct journal *journal, int lane);
/* How often the process died over this record. */
unsigned
journal_crashes(const struct journal *journal, int32_t partition, int64_t offset);
/* Forgets the records of `partition` below `committed`. */
void journal_forget(struct journal *journal, int32_t partition, int64_t committed);
