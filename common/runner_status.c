/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and readiness of a running worker. */
#include "runner_status.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "log.h"

enum {
    NUMBER_BYTES = 24,
    N_BUCKETS = 11,
    DEAD_AFTER_MS = 600000, /* a loop that has not turned for so long is not alive */
};

static const char *const partition_labels[] = {"topic", "partition", NULL};
static const char *const group_labels[] = {"consumergroup", "topic", "partition", NULL};
static const char *const outcome_labels[] = {"partition", "outcome", NULL};
static const char *const topic_labels[] = {"topic", NULL};
static const char *const dead_labels[] = {"stage", "code", NULL};
static const double second_buckets[N_BUCKETS] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05,
                                                 0.1,    0.5,    1,     5,     30};

static const double record_buckets[N_BUCKETS] = {1,    3,    10,    30,    100,   300,
                                                 1000, 3000, 10000, 30000, 100000};

/* Where a metric goes in the status: with labels the metric, else its only series. */
struct shown {
    size_t at;
    enum metric_type type;
    const char *name;
    const char *const *labels;
    const char *help;
};

#define AT(member) offsetof(struct runner_status, member)

static const struct shown shown[] = {
    {AT(records), METRIC_COUNTER, "heddle_records_total", outcome_labels,
     "Records of the input by what became of them: ok, dead or retry."},
    {AT(emitted), METRIC_COUNTER, "heddle_emitted_total", topic_labels,
     "Records produced, by topic."},
    {AT(dead), METRIC_COUNTER, "heddle_dead_letters_total", dead_labels,
     "Dead letters by stage and code."},
    /* The names that dashboards of kafka_exporter ask for. */
    {AT(lag), METRIC_GAUGE, "kafka_consumergroup_lag", group_labels,
     "Records not committed yet; NaN while unknown."},
    {AT(position), METRIC_GAUGE, "kafka_consumergroup_current_offset", group_labels,
     "Committed offset; NaN without a commit."},
    {AT(start), METRIC_GAUGE, "kafka_topic_partition_oldest_offset", partition_labels,
     "Start of the partition; NaN while unknown."},
    {AT(end), METRIC_GAUGE, "kafka_topic_partition_current_offset", partition_labels,
     "High watermark of the partition; NaN while unknown."},
    {AT(stable), METRIC_GAUGE, "heddle_last_stable_offset", partition_labels,
     "Up to which a read_committed reader gets: below the high watermark while a "
     "transaction is open; NaN while unknown."},
    {AT(commits), METRIC_COUNTER, "heddle_commits_total", NULL, "Batches committed."},
    {AT(aborts), METRIC_COUNTER, "heddle_aborts_total", NULL,
     "Batches given up, whose records are read again."},
    {AT(batch_records), METRIC_HISTOGRAM, "heddle_batch_records", NULL,
     "Records of a batch."},
    {AT(open_records), METRIC_GAUGE, "heddle_open_records", NULL,
     "Records worked on and not committed yet."},
    {AT(stuck), METRIC_GAUGE, "heddle_stuck_partitions", NULL,
     "Partitions with data that have not advanced for half a minute."},
    {AT(commit_seconds), METRIC_HISTOGRAM, "heddle_commit_seconds", NULL,
     "Time to deliver and commit a batch."},
    {AT(record_seconds), METRIC_HISTOGRAM, "heddle_record_seconds", NULL,
     "Time from bytes to what a record gives."},
    {AT(rebalances), METRIC_COUNTER, "heddle_rebalances_total", NULL,
     "Assignments and revocations of partitions."},
    {AT(assigned), METRIC_GAUGE, "heddle_assigned_partitions", NULL,
     "Partitions assigned to this process."},
    {AT(paused), METRIC_GAUGE, "heddle_paused_partitions", NULL,
     "Partitions whose next record is tried again later."},
    {AT(broker_up), METRIC_GAUGE, "heddle_broker_up", NULL,
     "1 while a broker connection is up."},
    {AT(queued), METRIC_GAUGE, "heddle_queued_records", NULL,
     "Records produced and not acknowledged yet."},
    {AT(late), METRIC_COUNTER, "heddle_late_records_total", NULL,
     "Records in work past their deadline."},
};

/* The metric, or its only series; NULL when it can't be added. */
static void *
add(struct metrics *metrics, const struct shown *row, struct err *err)
{
    struct metric_spec spec = {
        .name = row->name, .help = row->help, .type = row->type, .labels = row->labels};
    if (row->type == METRIC_HISTOGRAM) {
        bool seconds = strstr(row->name, "_seconds") != NULL;
        spec.buckets = seconds ? second_buckets : record_buckets;
        spec.n_buckets = N_BUCKETS;
    }
    struct metric *metric = metrics_add(metrics, &spec, err);
    return !metric || row->labels ? (void *)metric : metric_series(metric, NULL);
}

enum err_kind
runner_status_init(struct runner_status *status,
                   struct metrics *metrics,
                   const char *input,
                   const char *group,
                   const char *delivery,
                   int64_t job_deadline_ms,
                   struct err *err)
{
    *status = (struct runner_status){.input = input,
                                     .group = group,
                                     .delivery = delivery,
                                     .job_deadline_ms = job_deadline_ms};
    pthread_mutex_init(&status->lock, NULL);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        void *added = add(metrics, &shown[i], err);
        if (!added)
            return err->kind;
        memcpy((char *)status + shown[i].at, &added, sizeof added);
    }
    return ERR_OK;
}

void
runner_status_done(struct runner_status *status)
{
    pthread_mutex_destroy(&status->lock);
}

void
status_turned(struct runner_status *status, int64_t now_ms)
{
    atomic_store(&status->turned_ms, now_ms);
}

void
status_busy(struct runner_status *status, const struct message *in, int64_t now_ms)
{
    atomic_store(&status->busy_partition, in->partition);
    atomic_store(&status->busy_offset, in->offset);
    atomic_store(&status->busy_since_ms, now_ms);
}

void
status_idle(struct runner_status *status)
{
    atomic_store(&status->busy_since_ms, 0);
}

static struct series *
outcome(struct runner_status *status, int32_t partition, const char *name)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%d", (int)partition);
    const char *const values[] = {number, name};
    return metric_series(status->records, values);
}

struct status_outcomes
status_outcomes(struct runner_status *status, int32_t partition)
{
    return (struct status_outcomes){
        .ok = outcome(status, partition, "ok"),
        .dead = outcome(status, partition, "dead"),
        .retry = outcome(status, partition, "retry"),
    };
}

void
status_emitted(struct runner_status *status, const char *topic)
{
    series_add(metric_series(status->emitted, &topic), 1);
}

void
status_dead(struct runner_status *status, const struct err *why)
{
    const char *const values[] = {why->stage ? why->stage : "derive", why->code};
    series_add(metric_series(status->dead, values), 1);
}

void
status_abort(struct runner_status *status)
{
    series_add(status->aborts, 1);
}

void
status_commit(struct runner_status *status, size_t records, int64_t took_ms)
{
    series_add(status->commits, 1);
    series_observe(status->batch_records, (double)records);
    series_observe(status->commit_seconds, (double)took_ms / 1000);
}

void
status_held(struct runner_status *status,
            const struct message *in,
            const struct err *why,
            int64_t since_ms)
{
    if (in) {
        pthread_mutex_lock(&status->lock);
        snprintf(status->held_text, STATUS_TEXT_BYTES,
                 "%s partition %d offset %" PRId64 ": %s", in->topic, (int)in->partition,
                 in->offset, why->code);
        pthread_mutex_unlock(&status->lock);
    }
    atomic_store(&status->held_since_ms, in ? since_ms : 0);
}

static double
known(int64_t number)
{
    return number < 0 ? (double)NAN : (double)number;
}

static int64_t
lag_of(const struct partition_offsets *offsets)
{
    int64_t from =
        offsets->committed > offsets->start ? offsets->committed : offsets->start;
    if (offsets->end < 0)
        return -1;
    return offsets->drained || offsets->end < from ? 0 : offsets->end - from;
}

void
status_partition(struct runner_status *status,
                 int32_t partition,
                 const struct partition_offsets *offsets)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%d", (int)partition);
    const char *const of_group[] = {status->group, status->input, number};
    const char *const *of_topic = of_group + 1;
    series_set(metric_series(status->lag, of_group), known(lag_of(offsets)));
    series_set(metric_series(status->position, of_group), known(offsets->committed));
    series_set(metric_series(status->start, of_topic), known(offsets->start));
    series_set(metric_series(status->end, of_topic), known(offsets->end));
    series_set(metric_series(status->stable, of_topic), known(offsets->stable));
}

bool
status_overdue(struct runner_status *status, int factor)
{
    long long since_ms = atomic_load(&status->busy_since_ms);
    int64_t busy_ms = clock_monotonic_ms() - since_ms;
    if (!since_ms || busy_ms <= status->job_deadline_ms)
        return false;
    if (status->late_since_ms != since_ms) {
        status->late_since_ms = since_ms;
        series_add(status->late, 1);
        log_event(
            LOG_ERROR, "a record is in work past its deadline: not ready",
            LOG_FIELDS(LOG_STR("code", "record_hangs"),
                       LOG_INTEGER("job_deadline_ms", status->job_deadline_ms),
                       LOG_POSITION(status->input, atomic_load(&status->busy_partition),
                                    atomic_load(&status->busy_offset))));
    }
    return busy_ms > factor * status->job_deadline_ms;
}

/* --- answers of the admin port ------------------------------------------------------ */

/* Why records do not flow; NULL when they do. `about` names the record. */
static const char *
trouble(struct runner_status *status, char about[static STATUS_TEXT_BYTES])
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t busy_ms = atomic_load(&status->busy_since_ms);
    int64_t held_ms = atomic_load(&status->held_since_ms);
    about[0] = '\0';
    if (atomic_load(&status->stopping))
        return "stopping";
    bool hung = busy_ms && now_ms - busy_ms > status->job_deadline_ms;
    bool stuck = held_ms && now_ms - held_ms > STATUS_STUCK_MS;
    pthread_mutex_lock(&status->lock);
    if (stuck)
        memcpy(about, status->held_text, STATUS_TEXT_BYTES);
    pthread_mutex_unlock(&status->lock);
    if (hung)
        snprintf(about, STATUS_TEXT_BYTES, "%s partition %d offset %lld", status->input,
                 atomic_load(&status->busy_partition), atomic_load(&status->busy_offset));
    if (hung)
        return "record_hangs";
    if (!atomic_load(&status->connected))
        return "broker_unreachable";
    if (!atomic_load(&status->joined))
        return "joining_group";
    return stuck ? "partition_stuck" : NULL;
}

bool
status_ready(struct runner_status *status, struct buf *ret_json)
{
    char about[STATUS_TEXT_BYTES];
    const char *reason = trouble(status, about);
    /* No text here needs an escape: codes, and topics of [a-zA-Z0-9._-]. */
    buf_addf(ret_json, "{\"ready\":%s,\"reason\":", reason ? "false" : "true");
    if (reason)
        buf_addf(ret_json, "\"%s\"", reason);
    else
        buf_add_str(ret_json, "null");
    buf_add_str(ret_json, ",\"record\":");
    if (*about)
        buf_addf(ret_json, "\"%s\"", about);
    else
        buf_add_str(ret_json, "null");
    buf_addf(ret_json, ",\"delivery\":\"%s\",\"partitions\":%d}\n", status->delivery,
             atomic_load(&status->n_assigned));
    return !reason;
}

bool
status_alive(struct runner_status *status)
{
    int64_t turned_ms = atomic_load(&status->turned_ms);
    return !turned_ms || clock_monotonic_ms() - turned_ms < DEAD_AFTER_MS;
}
