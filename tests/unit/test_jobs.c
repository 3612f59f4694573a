/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of jobs: who works on what, when, and what is left of it when partitions come
 * and go in any order.
 */
#include "jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "temp_dir.h"

#include "unit.h"

enum { TIMEOUT_S = 60, PARTITIONS = 6, ROUNDS = 4000 };

/* A worker whose records do as their first letter says: o is done at once, h holds until
 * it is let go or cancelled, s is stubborn and holds on, b can't be prepared, r fails. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open; /* what holds may go */
    int n_running;
    int most_running;
    int n_run;
    int n_cancelled;
    int64_t threads;
    int64_t deadline_ms;
    struct worker_jobs ops;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static enum err_kind
prepare(void *state,
        const struct message *in,
        struct arena *arena,
        void **ret_task,
        struct err *err)
{
    assert_ptr_equal(state, &worker);
    if (in->value.data[0] == 'b')
        return err_set(err, ERR_RECORD, "body_invalid", "bad as asked");
    *ret_task = (void *)(uintptr_t)arena_copy(arena, in->value).data;
    return *ret_task ? ERR_OK : err_no_memory(err, "a task");
}

static struct timespec
in_a_moment(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

/* With the lock held. */
static void
hold(bool is_stubborn, const atomic_bool *cancelled)
{
    while (!worker.is_open && (is_stubborn || !atomic_load(cancelled))) {
        struct timespec until = in_a_moment();
        pthread_cond_timedwait(&worker.changed, &worker.lock, &until);
    }
}

static enum err_kind
run(void *state,
    const struct message *in,
    const void *task,
    const atomic_bool *cancelled,
    struct emits *out,
    struct err *err)
{
    char letter = *(const char *)task;
    (void)state;
    pthread_mutex_lock(&worker.lock);
    worker.n_run++;
    worker.n_running++;
    if (worker.n_running > worker.most_running)
        worker.most_running = worker.n_running;
    pthread_cond_broadcast(&worker.changed);
    if (letter == 'h' || letter == 's')
        hold(letter == 's', cancelled);
    worker.n_running--;
    worker.n_cancelled += atomic_load(cancelled);
    pthread_cond_broadcast(&worker.changed);
    pthread_mutex_unlock(&worker.lock);
    if (letter == 'r')
        return err_set(err, ERR_RETRY, "not_yet", "fails as asked");
    return emits_add_tombstone(out, "heddle.warnings", in->key, in->timestamp_ms, err);
}

static struct jobs *
open_jobs(int64_t threads, struct journal *journal)
{
    struct err err = {0};
    worker.is_open = false;
    worker.n_running = worker.most_running = worker.n_run = worker.n_cancelled = 0;
    worker.threads = threads;
    worker.deadline_ms = 3600000;
    worker.ops = (struct worker_jobs){.threads = &worker.threads,
                                      .deadline_ms = &worker.deadline_ms,
                                      .prepare = prepare,
                                      .run = run};
    struct jobs *jobs = jobs_new(&worker.ops, &worker, journal, &err);
    assert_non_null(jobs);
    return jobs;
}

static void
start(struct jobs *jobs, int32_t partition, int64_t offset, const char *value)
{
    struct err err = {0};
    char key[] = "key";
    char text[8];
    snprintf(text, sizeof text, "%s", value);
    struct header header = {SLICE("name"), {text, strlen(text)}};
    const struct message in = {.topic = "heddle.traces",
                               .partition = partition,
                               .offset = offset,
                               .timestamp_ms = offset,
                               .key = {key, 3},
                               .value = {text, strlen(text)},
                               .headers = &header,
                               .n_headers = 1};
    assert_int_equal(jobs_start(jobs, &in, &err), ERR_OK);
    memset(text, '?', sizeof text); /* the job has its own copy */
    memset(key, '?', sizeof key);
}

static void
let_go(void)
{
    pthread_mutex_lock(&worker.lock);
    worker.is_open = true;
    pthread_cond_broadcast(&worker.changed);
    pthread_mutex_unlock(&worker.lock);
}

/* Until so many are running, or so many have run. */
static void
wait_until(const int *counter, int n)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TIMEOUT_S;
    pthread_mutex_lock(&worker.lock);
    while (*counter < n)
        if (pthread_cond_timedwait(&worker.changed, &worker.lock, &until) == ETIMEDOUT)
            fail_msg("%d of %d", *counter, n);
    pthread_mutex_unlock(&worker.lock);
}

static struct job *
wait_for(struct jobs *jobs, int32_t partition, int64_t offset)
{
    const struct timespec moment = {.tv_nsec = 100000};
    time_t until = time(NULL) + TIMEOUT_S;
    struct job *job;
    while (!(job = jobs_finished(jobs, partition, offset)) && time(NULL) < until)
        nanosleep(&moment, NULL); /* between two looks */
    assert_non_null(job);
    return job;
}

/* --- one job after the other ---------------------------------------------------------
 */

static void
gives_what_the_worker_gave(void **state)
{
    (void)state;
    struct jobs *jobs = open_jobs(2, NULL);

    start(jobs, 3, 7, "o");
    const struct job *job = wait_for(jobs, 3, 7);

    assert_int_equal(job->kind, ERR_OK);
    assert_int_equal(job->out.n, 1);
    assert_true(slice_is(job->out.items[0].key, "key"));
    assert_true(slice_is(job->in.headers[0].value, "o"));
    assert_int_equal(job->out.items[0].timestamp_ms, 7);
    jobs_free(jobs);
}

static void
gives_the_errors_of_both_halves(void **state)
{
    (void)state;
    struct jobs *jobs = open_jobs(1, NULL);

    start(jobs, 0, 1, "b");
    start(jobs, 1, 1, "r");

    assert_int_equal(wait_for(jobs, 0, 1)->kind, ERR_RECORD);
    assert_null(wait_for(jobs, 0, 1)->task);
    assert_string_equal(wait_for(jobs, 1, 1)->err.code, "not_yet");
    assert_int_equal(wait_for(jobs, 1, 1)->kind, ERR_RETRY);
    jobs_free(jobs);
}

static void
works_on_as_many_at_once_as_it_has_threads(void **state)
{
    (void)state;
    struct jobs *jobs = open_jobs(3, NULL);

    for (int i = 0; i < 8; i++)
        start(jobs, i, 0, "h");
    wait_until(&worker.n_running, 3);
    assert_int_equal(jobs_open(jobs), 8);
    let_go();
    for (int i = 0; i < 8; i++)
        wait_for(jobs, i, 0);

    assert_int_equal(worker.most_running, 3);
    assert_int_equal(jobs_open(jobs), 0);
    assert_int_equal(jobs_begun(jobs), 8);
    jobs_free(jobs);
}

static void
begins_none_once_it_is_held_back(void **state)
{
    (void)state;
    struct jobs *jobs = open_jobs(1, NULL);
    start(jobs, 0, 0, "h");
    wait_until(&worker.n_running, 1);
    start(jobs, 1, 0, "o");

    jobs_hold_back(jobs);
    let_go();
    wait_for(jobs, 0, 0);

    assert_null(jobs_finished(jobs, 1, 0));
    assert_true(jobs_has(jobs, 1, 0));
    assert_int_equal(jobs_begun(jobs), 1);
    jobs_free(jobs);
    assert_int_equal(worker.n_run, 1);
}

static void
cancels_what_is_dropped_and_forgets_it(void **state)
{
    (void)state;
    struct jobs *jobs = open_jobs(1, NULL);
    start(jobs, 0, 5, "h");
    wait_until(&worker.n_running, 1);
    start(jobs, 1, 5, "o");

    jobs_drop(jobs, 0, 5);
    assert_true(jobs_has(jobs, 0, 5)); /* not below 5 */
    jobs_drop(jobs, 0, INT64_MAX);
    assert_false(jobs_has(jobs, 0, 5));
    wait_for(jobs, 1, 5);

    assert_int_equal(worker.n_cancelled, 1);
    assert_null(jobs_finished(jobs, 0, 5));
    jobs_free(jobs);
}

static void
starts_a_record_again_while_its_dropped_job_still_ends(void **state)
{
    (void)state;
    struct jobs *jobs = open_jobs(2, NULL);
    start(jobs, 0, 5, "s");
    wait_until(&worker.n_running, 1);

    jobs_drop(jobs, 0, INT64_MAX);
    start(jobs, 0, 5, "o");
    const struct job *job = wait_for(jobs, 0, 5);

    assert_int_equal(job->kind, ERR_OK);
    assert_int_equal(worker.n_cancelled, 0);
    let_go();
    jobs_free(jobs);
}

/* --- deadlines and the journal -------------------------------------------------------
 */

struct journaled {
    struct temp_dir dir;
    struct journal *journal;
};

static void
open_journal(struct journaled *j)
{
    struct err err = {0};
    j->journal = journal_open(j->dir.path, "i", "heddle.traces", &err);
    assert_non_null(j->journal);
}

/* As the next process finds it. */
static unsigned
crashes_after(struct journaled *j, int32_t partition, int64_t offset)
{
    journal_close(j->journal);
    open_journal(j);
    return journal_crashes(j->journal, partition, offset);
}

static void
counts_what_was_in_work_when_the_process_died(void **state)
{
    (void)state;
    struct journaled j;
    struct journaled seen;
    assert_true(temp_dir_make(&j.dir));
    open_journal(&j);
    struct jobs *jobs = open_jobs(2, j.journal);
    start(jobs, 0, 5, "h");
    start(jobs, 1, 6, "h");
    start(jobs, 2, 7, "o");
    wait_until(&worker.n_running, 2);

    seen = (struct journaled){j.dir, NULL}; /* another mapping of the same file */
    open_journal(&seen);

    assert_int_equal(journal_crashes(seen.journal, 0, 5), 1);
    assert_int_equal(journal_crashes(seen.journal, 1, 6), 1);
    assert_int_equal(journal_crashes(seen.journal, 2, 7), 0);
    journal_close(seen.journal);
    jobs_free(jobs);
    journal_close(j.journal);
    temp_dir_done(&j.dir);
}

static void
works_alone_on_what_the_process_has_died_over(void **state)
{
    (void)state;
    struct journaled j;
    assert_true(temp_dir_make(&j.dir));
    open_journal(&j);
    journal_enter(j.journal, 0, 4, 9);
    assert_int_equal(crashes_after(&j, 4, 9), 1);
    struct jobs *jobs = open_jobs(3, j.journal);

    start(jobs, 0, 0, "h");
    wait_until(&worker.n_running, 1);
    start(jobs, 4, 9, "o");
    start(jobs, 1, 0, "o");
    assert_null(jobs_finished(jobs, 4, 9));
    let_go();
    wait_for(jobs, 4, 9);
    wait_for(jobs, 1, 0);

    assert_int_equal(worker.most_running, 1);
    jobs_free(jobs);
    journal_close(j.journal);
    temp_dir_done(&j.dir);
}

static void
names_what_is_past_its_deadline_and_leaves_its_mark(void **state)
{
    (void)state;
    struct journaled j;
    int64_t worked_ms = 0;
    assert_true(temp_dir_make(&j.dir));
    open_journal(&j);
    struct jobs *jobs = open_jobs(1, j.journal);
    start(jobs, 2, 3, "h");
    wait_until(&worker.n_running, 1);
    assert_null(jobs_late(jobs, &worked_ms));

    worker.deadline_ms = 0;
    const struct job *late = jobs_late(jobs, &worked_ms);

    assert_non_null(late);
    assert_int_equal(late->in.offset, 3);
    assert_true(jobs_end(jobs, TIMEOUT_S * INT64_C(1000)));
    jobs_free(jobs);
    assert_int_equal(crashes_after(&j, 2, 3), 1);
    journal_close(j.journal);
    temp_dir_done(&j.dir);
}

/* Its caller still reads it: the sanitizers see when it does not live on. */
static void
keeps_what_is_past_its_deadline_though_it_ends_and_is_dropped(void **state)
{
    (void)state;
    int64_t worked_ms = 0;
    struct jobs *jobs = open_jobs(1, NULL);
    start(jobs, 2, 3, "h");
    wait_until(&worker.n_running, 1);
    worker.deadline_ms = 0;
    const struct job *late = jobs_late(jobs, &worked_ms);
    assert_non_null(late);

    assert_true(jobs_end(jobs, TIMEOUT_S * INT64_C(1000)));
    jobs_drop(jobs, 2, INT64_MAX);

    assert_int_equal(late->in.offset, 3);
    jobs_free(jobs);
}

static void
acquits_what_is_only_slow_to_end(void **state)
{
    (void)state;
    struct journaled j;
    assert_true(temp_dir_make(&j.dir));
    open_journal(&j);
    struct jobs *jobs = open_jobs(1, j.journal);
    start(jobs, 2, 3, "s");
    wait_until(&worker.n_running, 1);

    assert_false(jobs_end(jobs, 0));

    struct journaled seen = {j.dir, NULL};
    open_journal(&seen);
    assert_int_equal(journal_crashes(seen.journal, 2, 3), 0);
    journal_close(seen.journal);
    let_go();
    jobs_free(jobs);
    journal_close(j.journal);
    temp_dir_done(&j.dir);
}

/* --- any order -----------------------------------------------------------------------
 */

/* A partition as its owner sees it. */
struct lane {
    bool is_assigned;
    bool has_job;
    int64_t committed;
};

struct model {
    struct lane lanes[PARTITIONS];
    struct jobs *jobs;
    unsigned seed;
    int n_sent;
};

static unsigned
draw(struct model *model, unsigned n)
{
    model->seed = model->seed * 1103515245u + 12345u;
    return (model->seed >> 16) % n;
}

static void
revoke(struct model *model, int32_t p)
{
    jobs_drop(model->jobs, p, INT64_MAX);
    model->lanes[p].is_assigned = false;
    model->lanes[p].has_job = false;
}

/* A record comes, for the first time or again after a batch was given up. */
static void
arrive(struct model *model, int32_t p)
{
    static const char *const values[] = {"o", "o", "h", "b", "r"};
    struct lane *lane = &model->lanes[p];
    if (!lane->is_assigned || jobs_has(model->jobs, p, lane->committed))
        return;
    start(model->jobs, p, lane->committed, values[draw(model, 5)]);
    lane->has_job = true;
    model->n_sent++;
}

/* The result of a lane, if it is there by now, is committed. */
static void
collect(struct model *model, int32_t p)
{
    struct lane *lane = &model->lanes[p];
    const struct job *job =
        lane->is_assigned ? jobs_finished(model->jobs, p, lane->committed) : NULL;
    if (!job)
        return;
    assert_int_equal(job->in.partition, p);
    assert_int_equal(job->in.offset, lane->committed);
    assert_int_equal(job->out.n, job->kind == ERR_OK);
    lane->committed++;
    lane->has_job = false;
    jobs_drop(model->jobs, p, lane->committed);
}

static void
assert_lanes(struct model *model)
{
    size_t n = 0;
    for (int32_t p = 0; p < PARTITIONS; p++) {
        const struct lane *lane = &model->lanes[p];
        assert_int_equal(jobs_has(model->jobs, p, lane->committed), lane->has_job);
        assert_false(jobs_has(model->jobs, p, lane->committed - 1));
        n += lane->has_job;
    }
    assert_true(jobs_open(model->jobs) <= n);
    assert_true(jobs_begun(model->jobs) <= n);
}

static void
step(struct model *model)
{
    int32_t p = (int32_t)draw(model, PARTITIONS);
    switch (draw(model, 8)) {
    case 0:
        model->lanes[p].is_assigned = true;
        break;
    case 1:
        revoke(model, p);
        break;
    case 2:
    case 3:
        arrive(model, p);
        break;
    case 4: /* what holds may go, for a while */
        pthread_mutex_lock(&worker.lock);
        worker.is_open = !worker.is_open;
        pthread_cond_broadcast(&worker.changed);
        pthread_mutex_unlock(&worker.lock);
        break;
    default:
        if (worker.is_open && model->lanes[p].has_job && draw(model, 2))
            wait_for(model->jobs, p, model->lanes[p].committed);
        collect(model, p);
        break;
    }
    assert_lanes(model);
}

static void
lanes_exist_exactly_for_the_assigned_set(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 5; seed++) {
        struct model model = {.seed = seed, .jobs = open_jobs(3, NULL)};
        for (int i = 0; i < ROUNDS; i++)
            step(&model);
        let_go();
        for (int32_t p = 0; p < PARTITIONS; p++)
            if (model.lanes[p].has_job) {
                wait_for(model.jobs, p, model.lanes[p].committed);
                collect(&model, p);
            }
        assert_lanes(&model);
        assert_true(model.n_sent > ROUNDS / 50);
        assert_true(worker.most_running <= 3);
        assert_int_equal(jobs_open(model.jobs), 0);
        jobs_free(model.jobs);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_what_the_worker_gave),
        cmocka_unit_test(gives_the_errors_of_both_halves),
        cmocka_unit_test(works_on_as_many_at_once_as_it_has_threads),
        cmocka_unit_test(begins_none_once_it_is_held_back),
        cmocka_unit_test(cancels_what_is_dropped_and_forgets_it),
        cmocka_unit_test(starts_a_record_again_while_its_dropped_job_still_ends),
        cmocka_unit_test(counts_what_was_in_work_when_the_process_died),
        cmocka_unit_test(works_alone_on_what_the_process_has_died_over),
        cmocka_unit_test(names_what_is_past_its_deadline_and_leaves_its_mark),
        cmocka_unit_test(keeps_what_is_past_its_deadline_though_it_ends_and_is_dropped),
        cmocka_unit_test(acquits_what_is_only_slow_to_end),
        cmocka_unit_test(lanes_exist_exactly_for_the_assigned_set),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
