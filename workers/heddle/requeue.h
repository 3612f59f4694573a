/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends dead letters back to their topics, once each: what is about to be sent stands in
 * the journal before, what was acknowledged after. What a run that died has left unsure
 * is looked for in the topics themselves.
 */
#pragma once

#include "dead_journal.h"
#include "err.h"
#include "kafka.h"
#include "letters.h"
#include "marks.h"

#include <signal.h>
#include <stddef.h>

/*
 * Finds out what became of the letters that the last run was sending: reads each topic
 * that it wrote to from where that ended before it. With a journal the answer is written
 * to it; NULL: only the marks change. Errors of kafka.h and of the journal.
 */
enum err_kind requeue_settle(const struct kafka_settings *kafka,
                             struct marks *marks,
                             struct dead_journal *journal,
                             struct err *err);

struct requeue {
    const struct kafka_settings *kafka;
    struct letters *letters; /* planned and sorted */
    struct dead_journal *journal;
    const volatile sig_atomic_t *stop; /* not 0: end after the batch */
};

/*
 * Sends every letter that is to be taken and waits for the acknowledgements; tells of
 * each batch on standard error. A letter that was not sent is left with a reason
 * ("record_too_large", "record_refused_by_broker", "gone", "not_sent", "unsure"),
 * whatever the outcome. ERR_FATAL EXIT_TRY_AGAIN "interrupted", and errors of kafka.h and
 * of the journal; the next run goes on where this one ended.
 */
enum err_kind requeue_run(const struct requeue *requeue, struct err *err);
