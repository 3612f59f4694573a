/* SPDX-License-Identifier: Apache-2.0 */
/* The main program of every worker. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "allocator.h"
#include "cleanup.h"
#include "config.h"
#include "digest.h"
#include "dry_run.h"
#include "fleet_registry.h"
#include "instance.h"
#include "kafka.h"
#include "log.h"
#include "metrics.h"
#include "program.h"
#include "runner.h"
#include "s3.h"
#include "states.h"
#include "watchdog.h"

enum {
    NAME_BYTES = 128,
    MAX_TOPICS = 32,
    TRANSACTION_MARGIN_MS = 10000,
};

static struct questions {
    bool dry_run;
    const char *input;
} questions;

static const struct option question_options[] = {
    {.name = "dry_run",
     .type = OPTION_FLAG,
     .offset = offsetof(struct questions, dry_run),
     .traits = OPTION_CLI_ONLY,
     .help = "Prints what the worker would send for --input, without a broker: exit 1 "
             "when a record was refused."},
    {.name = "input",
     .type = OPTION_TEXT,
     .offset = offsetof(struct questions, input),
     .traits = OPTION_CLI_ONLY,
     .arg = "FILE",
     .help = "With --dry-run: events as lines of Avro JSON, or an Avro container."},
};

/* What a run is made of, in the order it is opened. */
struct process {
    const struct worker *worker;
    const struct program_call *call;
    char group[NAME_BYTES];
    char config_sha256[DIGEST_HEX];
    struct provenance provenance;
    struct worker_context context;
    struct dead_letter_source dead;
    const char *topics[MAX_TOPICS + 1]; /* that it writes, heddle.dead included */
    struct kafka_settings kafka;
    struct memory_plan memory;
    struct registry *registry; /* NULL: none is set */
    struct schema_source schemas;
    struct instance *instance;
    struct journal *journal;
    char *store_dir;
    struct states *states;
    void *state;
    bool opened;
    struct metrics *metrics;
    struct runner *runner;
    struct admin *admin;
};

/* --- settings ----------------------------------------------------------------------- */

static enum err_kind
digest_config(struct process *process, struct err *err)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    options_derive_lines(process->call->options, &lines);
    if (buf_check(&lines, "the settings", err))
        return err->kind;
    digest_hex(buf_slice(&lines), process->config_sha256);
    return ERR_OK;
}

static enum err_kind
prepare(struct process *process, struct err *err)
{
    const struct worker *worker = process->worker;
    const struct fleet_settings *fleet = &process->call->fleet;
    if (fleet->group)
        snprintf(process->group, sizeof process->group, "%s", fleet->group);
    else
        snprintf(process->group, sizeof process->group, "heddle-%s", worker->name);
    if (digest_config(process, err) || s3_check(&fleet->remote.s3, err))
        return err->kind;
    process->provenance = (struct provenance){
        .worker = slice_of(worker->name),
        .version = SLICE(HEDDLE_VERSION),
        .config_sha256 = slice_of(process->config_sha256),
    };
    process->context = (struct worker_context){
        .provenance = &process->provenance,
        .claim_roots = fleet->claim_roots,
        .remote = &fleet->remote,
        .gather_ms = fleet->job_deadline_ms / 2,
    };
    process->dead = (struct dead_letter_source){
        .group = process->group,
        .worker = worker->name,
        .version = HEDDLE_VERSION,
        .connect_names = fleet->dead_headers == DEAD_HEADERS_CONNECT,
    };
    return ERR_OK;
}

static enum err_kind
open_worker(struct process *process, struct err *err)
{
    if (process->worker->open &&
        process->worker->open(&process->context, &process->state, err))
        return err->kind;
    process->opened = true;
    if (process->states)
        states_set_worker(process->states, process->state);
    return ERR_OK;
}

static void
close_worker(struct process *process)
{
    if (process->opened && process->worker->close)
        process->worker->close(process->state);
}

/* --- without a broker --------------------------------------------------------------- */

static int
run_dry(struct process *process, struct err *err)
{
    bool refused = false;
    watchdog_let_signals_go();
    if (!questions.input) {
        err_fatal(err, EXIT_USAGE, "bad_value", "--dry-run wants --input FILE");
        return EXIT_USAGE;
    }
    if (!open_worker(process, err))
        dry_run(process->worker, process->state, &process->dead, process->context.schemas,
                questions.input, stdout, &refused, err);
    if (!err->kind && fflush(stdout))
        err_fatal(err, EXIT_TRY_AGAIN, "output_failed",
                  "standard output can't be written");
    close_worker(process);
    return refused ? EXIT_NEGATIVE : EXIT_OK;
}

/* --- with one ----------------------------------------------------------------------- */

static void
answer_metrics(void *state, struct buf *out)
{
    const struct process *process = state;
    metrics_text(process->metrics, out);
}

static bool
answer_ready(void *state, struct buf *ret_json)
{
    const struct process *process = state;
    return runner_ready(process->runner, ret_json);
}

static bool
answer_alive(void *state)
{
    const struct process *process = state;
    return runner_alive(process->runner);
}

static enum err_kind
share_memory(struct process *process, struct err *err)
{
    const struct fleet_settings *fleet = &process->call->fleet;
    const struct memory_wish wish = {
        .limit = fleet->memory,
        .batch_bytes = process->memory.batch_bytes,
        .batch_records = fleet->batch_records,
        .fetched_records = kafka_prefetched_records(),
    };
    if (wish.limit && wish.limit < MEMORY_MIN_BYTES)
        return err_fatal(err, EXIT_CONFIG, "memory_too_small",
                         "memory is %lld bytes; a worker wants 128MiB at least, or 0 for "
                         "no limit",
                         (long long)wish.limit);
    process->memory =
        memory_plan_make(&wish, process->kafka.properties, process->kafka.n_properties);
    process->kafka.memory = &process->memory;
    if (wish.limit)
        allocator_bound(wish.limit);
    return ERR_OK;
}

static enum err_kind
check_settings(struct process *process, struct err *err)
{
    const struct fleet_settings *fleet = &process->call->fleet;
    size_t n = 0;
    for (; process->worker->outputs && process->worker->outputs[n] && n < MAX_TOPICS; n++)
        process->topics[n] = process->worker->outputs[n];
    process->kafka = fleet_kafka_settings(fleet, process->call->options, NULL);
    process->kafka.topics = process->topics;
    if (fleet_check_brokers(&process->kafka, err) ||
        kafka_check_properties(&process->kafka, err))
        return err->kind;
    return share_memory(process, err);
}

static const struct delivery_ops *
delivery_of(const struct fleet_settings *fleet)
{
    return fleet->delivery == DELIVERY_EXACTLY_ONCE ? &delivery_exactly_once
                                                    : &delivery_at_least_once;
}

/* An open transaction must outlive the slowest record that is not given up. Jobs work
 * outside of it. */
static int64_t
transaction_timeout_ms(const struct process *process)
{
    const struct fleet_settings *fleet = &process->call->fleet;
    int64_t slowest_ms =
        process->worker->jobs ? 0 : RUNNER_JOB_FACTOR * fleet->job_deadline_ms;
    return fleet->batch_time_ms + slowest_ms + TRANSACTION_MARGIN_MS;
}

/* Below the name of the instance: no two processes ever share a store. */
static enum err_kind
open_states(struct process *process, struct err *err)
{
    const struct fleet_settings *fleet = &process->call->fleet;
    char sub[2 * NAME_BYTES];
    if (!process->worker->state)
        return ERR_OK;
    snprintf(sub, sizeof sub, "store/%s", instance_id(process->instance));
    process->store_dir = config_state_dir(fleet->state_dir, sub, true, err);
    if (!process->store_dir)
        return err->kind;
    const struct states_settings settings = {
        .worker = process->worker,
        .kafka = &process->kafka,
        .folder = process->store_dir,
        .max_bytes = fleet->store_max,
        .max_memory = process->memory.state_bytes,
    };
    process->states = states_new(&settings, err);
    process->context.states = process->states;
    return process->states ? ERR_OK : err->kind;
}

static enum err_kind
open_registry(struct process *process, struct err *err)
{
    process->registry = fleet_registry_open(&process->call->fleet, err);
    if (!process->registry)
        return err->kind;
    process->schemas = registry_source(process->registry);
    process->context.schemas = &process->schemas;
    return ERR_OK;
}

static enum err_kind
open_runner(struct process *process, struct err *err)
{
    const struct fleet_settings *fleet = &process->call->fleet;
    const char *id = instance_id(process->instance);
    process->kafka.client_id = id;
    process->metrics = metrics_new(err);
    if (!process->metrics)
        return err->kind;
    const struct runner_settings settings = {
        .worker = process->worker,
        .worker_state = process->state,
        .kafka = &process->kafka,
        .schemas = process->context.schemas,
        .delivery = delivery_of(fleet),
        .transaction_timeout_ms = transaction_timeout_ms(process),
        .refuse_embedded = true,
        .journal = process->journal,
        .states = process->states,
        .dead = process->dead,
        .group_instance_id = fleet->static_member ? id : NULL,
        .start = fleet->start == START_LATEST ? TOPIC_FROM_END : TOPIC_FROM_START,
        .batch_records = fleet->batch_records,
        .batch_bytes = fleet->batch_bytes,
        .batch_time_ms = fleet->batch_time_ms,
        .retry_attempts = fleet->retry_attempts,
        .retry = {fleet->retry_first_ms, fleet->retry_max_ms},
        .job_deadline_ms = fleet->job_deadline_ms,
        .drain_timeout_ms = fleet->drain_timeout_ms,
        .metrics = process->metrics,
    };
    process->runner = runner_new(&settings, err);
    return process->runner ? ERR_OK : err->kind;
}

static enum err_kind
open_admin(struct process *process, struct err *err)
{
    const char *address = process->call->fleet.admin;
    const struct admin_pages pages = {answer_metrics, answer_ready, answer_alive,
                                      process};
    if (!address || strcmp(address, "off") == 0)
        return ERR_OK;
    process->admin = admin_start(address, &pages, err);
    return process->admin ? ERR_OK : err->kind;
}

static void
say_memory(const struct memory_plan *plan)
{
    bool over = plan->limit && plan->worst > plan->limit;
    log_event(over ? LOG_WARNING : LOG_INFO,
              over ? "memory: what is set asks for more than the limit"
                   : "memory: what queues, batches and state take at worst",
              LOG_FIELDS(LOG_INTEGER("limit", plan->limit),
                         LOG_INTEGER("worst", plan->worst),
                         LOG_INTEGER("fetched", plan->fetched_bytes),
                         LOG_INTEGER("fetch", plan->fetch_bytes),
                         LOG_INTEGER("sent", plan->sent_bytes),
                         LOG_INTEGER("batch", plan->batch_bytes),
                         LOG_INTEGER("state", plan->state_bytes)));
}

static void
say_start(const struct process *process)
{
    const struct delivery_ops *delivery = delivery_of(&process->call->fleet);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    buf_addf(&text, "started: %s", delivery->promise);
    log_event(
        LOG_INFO, buf_text(&text),
        LOG_FIELDS(
            LOG_STR("version", HEDDLE_VERSION), LOG_STR("delivery", delivery->name),
            LOG_STR("input", process->worker->input), LOG_STR("group", process->group),
            LOG_STR("instance", instance_id(process->instance)),
            LOG_STR("librdkafka", kafka_version()),
            LOG_STR("config_sha256", process->config_sha256),
            LOG_INTEGER("admin_port", process->admin ? admin_port(process->admin) : 0)));
}

static enum err_kind
open_all(struct process *process, struct err *err)
{
    const struct fleet_settings *fleet = &process->call->fleet;
    if (check_settings(process, err))
        return err->kind;
    process->instance = instance_take(fleet->state_dir, process->worker->name,
                                      process->group, fleet->instance, err);
    if (!process->instance)
        return err->kind;
    process->journal = journal_open(fleet->state_dir, instance_id(process->instance),
                                    process->worker->input, err);
    if (!process->journal || open_states(process, err) || open_registry(process, err) ||
        open_worker(process, err))
        return err->kind;
    if (open_runner(process, err))
        return err->kind;
    return open_admin(process, err);
}

static int
run(struct process *process, struct err *err)
{
    /* First: every thread that is made from here on leaves the signals to it. */
    watchdog_start(process->call->fleet.drain_timeout_ms, err);
    if (!err->kind && !open_all(process, err)) {
        say_start(process);
        say_memory(&process->memory);
        if (!runner_run(process->runner, err))
            log_say(LOG_INFO, "stopped: everything that was taken is committed");
    } else {
        log_err(LOG_ERROR, err);
    }
    int status = err->kind ? err_exit_code(err) : EXIT_OK;
    *err = (struct err){0}; /* said */
    admin_stop(process->admin);
    runner_free(process->runner);
    states_free(process->states);
    free(process->store_dir);
    metrics_free(process->metrics);
    close_worker(process);
    registry_free(process->registry);
    journal_close(process->journal);
    instance_release(process->instance);
    return status;
}

/* ------------------------------------------------------------------------------------ */

static int
run_call(const struct worker *worker, const struct program_call *call, struct err *err)
{
    struct process process = {.worker = worker, .call = call};
    if (call->n_rest > 0) {
        err_fatal(err, EXIT_USAGE, "bad_value", "%s: a worker takes no arguments",
                  call->rest[0]);
        return EXIT_USAGE;
    }
    if (prepare(&process, err))
        return EXIT_INTERNAL;
    return questions.dry_run ? run_dry(&process, err) : run(&process, err);
}

int
worker_main(const struct worker *worker, int argc, char **argv)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "heddle-%s", worker->name);
    const struct program program = {
        .name = name,
        .usage = "[OPTION]...",
        .summary = worker->summary,
        .options = worker->options,
        .n_options = worker->n_options,
        .settings = worker->settings,
        .worker = true,
        .more = question_options,
        .n_more = sizeof question_options / sizeof question_options[0],
        .more_settings = &questions,
    };
    struct program_call call;
    struct err err = {0};
    int status = EXIT_OK;
    watchdog_hold_signals();
    if (program_start(&program, argc, argv, &call, &status)) {
        status = run_call(worker, &call, &err);
        if (err.kind)
            status = program_fail(name, &err);
    }
    program_done(&call);
    return status;
}
