/* SPDX-License-Identifier: Apache-2.0 */
/* Records in work on threads of their own. */
#include "jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"

enum { FIRST_LANE = 1 };

enum state { WAITING, RUNNING, FINISHED };

struct entry {
    struct job job; /* first: the owner sees it alone */
    struct entry *next;
    struct arena record;  /* of the copy and the task */
    struct arena results; /* of job.out */
    enum state state;     /* from here on under the lock */
    int64_t since_ms;     /* while running */
    int lane;             /* likewise */
    bool is_dropped;      /* nobody waits for it */
    bool is_alone;
    bool is_blamed; /* read by its owner, and marked in the journal, to the end */
    atomic_bool cancelled;
};

struct jobs {
    const struct worker_jobs *ops;
    void *worker_state;
    struct journal *journal;
    pthread_t threads[WORKER_MAX_JOBS];
    int n_threads;
    pthread_mutex_t lock; /* of what follows, and of the entries' states */
    int next_lane;
    pthread_cond_t work;  /* a job may be begun, or the threads are to end */
    pthread_cond_t ended; /* a job has ended */
    struct entry *first;  /* in the order in which they were started */
    bool is_held_back;
    bool is_ending;
};

static void
lock(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
}

static void
unlock(struct jobs *jobs)
{
    pthread_mutex_unlock(&jobs->lock);
}

/* Takes it out of the list; the caller holds the lock, and frees it. */
static void
unlink_entry(struct jobs *jobs, const struct entry *entry)
{
    struct entry **at = &jobs->first;
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
}

static void
free_entry(struct entry *entry)
{
    arena_done(&entry->record);
    arena_done(&entry->results);
    free(entry);
}

/* --- the threads ------------------------------------------------------------------- */

/* The next job to begin; NULL: none, or one that is worked on alone is in the way. */
static struct entry *
next_to_run(const struct jobs *jobs)
{
    struct entry *waiting = NULL;
    size_t running = 0;
    for (struct entry *entry = jobs->first; entry; entry = entry->next) {
        if (entry->state == RUNNING && entry->is_alone)
            return NULL;
        running += entry->state == RUNNING;
        if (entry->state == WAITING && !waiting)
            waiting = entry;
    }
    if (jobs->is_held_back || !waiting || (waiting->is_alone && running > 0))
        return NULL;
    return waiting;
}

static void
work_on(struct jobs *jobs, struct entry *entry)
{
    struct job *job = &entry->job;
    journal_enter(jobs->journal, entry->lane, job->in.partition, job->in.offset);
    unlock(jobs);
    job->kind = jobs->ops->run(jobs->worker_state, &job->in, job->task, &entry->cancelled,
                               &job->out, &job->err);
    lock(jobs);
    if (!entry->is_blamed)
        journal_leave(jobs->journal, entry->lane);
}

/* The caller holds the lock. */
static void
end_entry(struct jobs *jobs, struct entry *entry)
{
    entry->job.took_ms = clock_monotonic_ms() - entry->since_ms;
    entry->state = FINISHED;
    if (entry->is_dropped && !entry->is_blamed) {
        unlink_entry(jobs, entry);
        free_entry(entry);
    }
    pthread_cond_broadcast(&jobs->work);
    pthread_cond_broadcast(&jobs->ended);
}

static void *
run_thread(void *state)
{
    struct jobs *jobs = state;
    lock(jobs);
    int lane = jobs->next_lane++;
    while (!jobs->is_ending) {
        struct entry *entry = next_to_run(jobs);
        if (!entry) {
            pthread_cond_wait(&jobs->work, &jobs->lock);
            continue;
        }
        entry->state = RUNNING;
        entry->since_ms = clock_monotonic_ms();
        entry->lane = lane;
        work_on(jobs, entry);
        end_entry(jobs, entry);
    }
    unlock(jobs);
    return NULL;
}

struct jobs *
jobs_new(const struct worker_jobs *ops,
         void *state,
         struct journal *journal,
         struct err *err)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs) {
        err_no_memory(err, "the jobs");
        return NULL;
    }
    jobs->ops = ops;
    jobs->worker_state = state;
    jobs->journal = journal;
    jobs->next_lane = FIRST_LANE;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->work, NULL);
    pthread_cond_init(&jobs->ended, NULL);
    while (jobs->n_threads < *ops->threads &&
           pthread_create(&jobs->threads[jobs->n_threads], NULL, run_thread, jobs) == 0)
        jobs->n_threads++;
    if (jobs->n_threads == *ops->threads)
        return jobs;
    jobs_free(jobs);
    err_no_memory(err, "the threads of jobs");
    return NULL;
}

static void
cancel_all(struct jobs *jobs)
{
    lock(jobs);
    jobs->is_ending = true;
    for (struct entry *entry = jobs->first; entry; entry = entry->next)
        atomic_store(&entry->cancelled, true);
    pthread_cond_broadcast(&jobs->work);
    unlock(jobs);
}

/* The caller holds the lock. */
static bool
is_running(const struct jobs *jobs)
{
    for (const struct entry *entry = jobs->first; entry; entry = entry->next)
        if (entry->state == RUNNING)
            return true;
    return false;
}

/* What was only slow to end is not to be counted as a crash; the caller holds the lock.
 */
static void
acquit(struct jobs *jobs)
{
    for (const struct entry *entry = jobs->first; entry; entry = entry->next)
        if (entry->state == RUNNING && !entry->is_blamed)
            journal_leave(jobs->journal, entry->lane);
}

bool
jobs_end(struct jobs *jobs, int64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000) + 1; /* rounded up */
    cancel_all(jobs);
    lock(jobs);
    while (is_running(jobs) &&
           pthread_cond_timedwait(&jobs->ended, &jobs->lock, &until) != ETIMEDOUT) {
    }
    bool has_ended = !is_running(jobs);
    if (!has_ended)
        acquit(jobs);
    unlock(jobs);
    return has_ended;
}

void
jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    cancel_all(jobs);
    for (int i = 0; i < jobs->n_threads; i++)
        pthread_join(jobs->threads[i], NULL);
    while (jobs->first) {
        struct entry *entry = jobs->first;
        jobs->first = entry->next;
        free_entry(entry);
    }
    pthread_cond_destroy(&jobs->work);
    pthread_cond_destroy(&jobs->ended);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

/* --- starting ---------------------------------------------------------------------- */

static bool
copy_slice(struct arena *arena, struct slice from, struct slice *ret_copy)
{
    *ret_copy = from.data ? arena_copy(arena, from) : from;
    return !from.data || ret_copy->data;
}

static bool
copy_headers(struct arena *arena, const struct message *in, struct message *to)
{
    struct header *headers = arena_calloc(arena, in->n_headers, sizeof *headers);
    if (!headers)
        return false;
    for (size_t i = 0; i < in->n_headers; i++)
        if (!copy_slice(arena, in->headers[i].name, &headers[i].name) ||
            !copy_slice(arena, in->headers[i].value, &headers[i].value))
            return false;
    to->headers = headers;
    return true;
}

/* The topic's name is the worker's own. */
static bool
copy_message(struct arena *arena, const struct message *in, struct message *to)
{
    *to = *in;
    return copy_slice(arena, in->key, &to->key) &&
           copy_slice(arena, in->value, &to->value) && copy_headers(arena, in, to);
}

static struct entry *
new_entry(const struct jobs *jobs, const struct message *in)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->job.out.arena = &entry->results;
    entry->is_alone = journal_crashes(jobs->journal, in->partition, in->offset) > 0;
    if (copy_message(&entry->record, in, &entry->job.in))
        return entry;
    free_entry(entry);
    return NULL;
}

enum err_kind
jobs_start(struct jobs *jobs, const struct message *in, struct err *err)
{
    struct entry *entry = new_entry(jobs, in);
    if (!entry)
        return err_no_memory(err, "a record in work");
    struct job *job = &entry->job;
    job->kind = jobs->ops->prepare(jobs->worker_state, &job->in, &entry->record,
                                   &job->task, &job->err);
    if (job->kind) {
        entry->state = FINISHED;
        job->task = NULL;
    }
    lock(jobs);
    struct entry **last = &jobs->first;
    while (*last)
        last = &(*last)->next;
    *last = entry;
    pthread_cond_broadcast(&jobs->work);
    unlock(jobs);
    return ERR_OK;
}

/* --- the table --------------------------------------------------------------------- */

/* The caller holds the lock. */
static struct entry *
find(const struct jobs *jobs, int32_t partition, int64_t offset)
{
    for (struct entry *entry = jobs->first; entry; entry = entry->next)
        if (!entry->is_dropped && entry->job.in.partition == partition &&
            entry->job.in.offset == offset)
            return entry;
    return NULL;
}

bool
jobs_has(struct jobs *jobs, int32_t partition, int64_t offset)
{
    lock(jobs);
    bool has = find(jobs, partition, offset) != NULL;
    unlock(jobs);
    return has;
}

struct job *
jobs_finished(struct jobs *jobs, int32_t partition, int64_t offset)
{
    lock(jobs);
    struct entry *entry = find(jobs, partition, offset);
    bool is_finished = entry && entry->state == FINISHED;
    unlock(jobs);
    return is_finished ? &entry->job : NULL;
}

void
jobs_drop(struct jobs *jobs, int32_t partition, int64_t below)
{
    lock(jobs);
    for (struct entry *entry = jobs->first, *next; entry; entry = next) {
        next = entry->next;
        if (entry->job.in.partition != partition || entry->job.in.offset >= below)
            continue;
        if (entry->state == RUNNING || entry->is_blamed) { /* jobs_late() has lent it */
            entry->is_dropped = true;
            atomic_store(&entry->cancelled, true);
        } else {
            unlink_entry(jobs, entry);
            free_entry(entry);
        }
    }
    pthread_cond_broadcast(&jobs->work); /* what waited to be alone may be in the way no
                                            more */
    unlock(jobs);
}

size_t
jobs_open(struct jobs *jobs)
{
    size_t n = 0;
    lock(jobs);
    for (const struct entry *entry = jobs->first; entry; entry = entry->next)
        n += entry->state != FINISHED && !entry->is_dropped;
    unlock(jobs);
    return n;
}

size_t
jobs_begun(struct jobs *jobs)
{
    size_t n = 0;
    lock(jobs);
    for (const struct entry *entry = jobs->first; entry; entry = entry->next)
        n += entry->state != WAITING && !entry->is_dropped;
    unlock(jobs);
    return n;
}

void
jobs_hold_back(struct jobs *jobs)
{
    lock(jobs);
    jobs->is_held_back = true;
    unlock(jobs);
}

/* The caller holds the lock. */
static struct entry *
longest(const struct jobs *jobs, int64_t *ret_worked_ms)
{
    struct entry *oldest = NULL;
    for (struct entry *entry = jobs->first; entry; entry = entry->next)
        if (entry->state == RUNNING && (!oldest || entry->since_ms < oldest->since_ms))
            oldest = entry;
    *ret_worked_ms = oldest ? clock_monotonic_ms() - oldest->since_ms : 0;
    return oldest;
}

const struct job *
jobs_late(struct jobs *jobs, int64_t *ret_worked_ms)
{
    lock(jobs);
    struct entry *entry = longest(jobs, ret_worked_ms);
    bool is_late = entry && *ret_worked_ms >= *jobs->ops->deadline_ms;
    if (is_late)
        entry->is_blamed = true;
    unlock(jobs);
    return is_late ? &entry->job : NULL;
}

int64_t
jobs_longest_ms(struct jobs *jobs)
{
    int64_t worked_ms;
    lock(jobs);
    longest(jobs, &worked_ms);
    unlock(jobs);
    return worked_ms;
}
