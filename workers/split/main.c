/* SPDX-License-Identifier: Apache-2.0 */
/* heddle-split: trace events in; steady-state chunks and a split record each out. */
#include "split_worker.h"

#include "topics.h"
#include "worker.h"

static const char *const outputs[] = {TOPIC_SPLITS, TOPIC_WARNINGS, NULL};

static enum err_kind
prepare(void *state,
        const struct message *in,
        struct arena *arena,
        void **ret_task,
        struct err *err)
{
    struct split_task *task = arena_alloc(arena, sizeof *task);
    *ret_task = task;
    return task ? split_event_read(state, in, arena, task, err)
                : err_no_memory(err, "an event");
}

static enum err_kind
run(void *state,
    const struct message *in,
    const void *task,
    const atomic_bool *cancelled,
    struct emits *out,
    struct err *err)
{
    return split_event_run(state, task, in, cancelled, out, err);
}

static enum err_kind
give_up(void *state,
        const struct message *in,
        const void *task,
        const struct err *why,
        struct emits *out,
        struct err *err)
{
    return split_event_give_up(state, task, in, why, out, err);
}

static enum err_kind
late(void *state,
     const struct message *in,
     const void *task,
     int64_t worked_ms,
     struct emits *out,
     struct err *err)
{
    return split_event_late(state, task, in, worked_ms, out, err);
}

int
main(int argc, char **argv)
{
    const struct worker_jobs jobs = {
        .threads = &split_worker_settings.jobs,
        .deadline_ms = &split_worker_settings.job_deadline_ms,
        .prepare = prepare,
        .run = run,
        .give_up = give_up,
        .late = late,
    };
    const struct worker worker = {
        .name = "split",
        .summary = "Cuts the steady state out of each profiler trace.",
        .input = TOPIC_TRACES,
        .input_type = &trace_event_type,
        .outputs = outputs,
        .options = split_worker_options,
        .n_options = split_worker_n_options,
        .settings = &split_worker_settings,
        .open = split_worker_open,
        .jobs = &jobs,
        .close = split_worker_close,
    };
    return worker_main(&worker, argc, argv);
}
