/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and readiness of a running worker. */
#include "runner_status.h"

#include <inttypes.h>
#include <math.h>
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

struct adder {
    struct metrics *metrics;
    struct err *err;
    bool failed;
};

static struct metric *
add(struct adder *to,
    enum metric_type type,
    const char *name,
    const char *const *labels,
    const char *help)
{
    struct metric_spec spec = {
        .name = name, .help = help, .type = type, .labels = labels};
    if (type == METRIC_HISTOGRAM) {
        bool seconds = strstr(name, "_seconds") != NULL;
        spec.buckets = seconds ? second_buckets : record_buckets;
        spec.n_buckets = N_BUCKETS;
    }
    struct metric *metric = to->failed ? NULL : metrics_add(to->metrics, &spec, to->err);
    to->failed = !metric;
    return metric;
}

static struct series *
add_one(struct adder *to, enum metric_type type, const char *name, const char *help)
{
    struct metric *metric = add(to, type, name, NULL, help);
    return metric ? metric_series(metric, NULL) : NULL;
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
    struct adder to = {metrics, err, false};
    *status = (struct runner_status){.input = input,
                                     .group = group,
                                     .delivery = delivery,
                                     .job_deadline_ms = job_deadline_ms};
    pthread_mutex_init(&status->lock, NULL);
    status->records =
        add(&to, METRIC_COUNTER, "heddle_records_total", outcome_labels,
            "Records of the input by what became of them: ok, dead or retry.");
    status->emitted = add(&to, METRIC_COUNTER, "heddle_emitted_total", topic_labels,
                          "Records produced, by topic.");
    status->dead = add(&to, METRIC_COUNTER, "heddle_dead_letters_total", dead_labels,
                       "Dead letters by stage and code.");
    /* The names that dashboards of kafka_exporter ask for. */
    status->lag = add(&to, METRIC_GAUGE, "kafka_consumergroup_lag", group_labels,
                      "Records not committed yet; NaN while unknown.");
    status->position = add(&to, METRIC_GAUGE, "kafka_consumergroup_current_offset",
                           group_labels, "Committed offset; NaN without a commit.");
    status->start = add(&to, METRIC_GAUGE, "kafka_topic_partition_oldest_offset",
                        partition_labels, "Start of the partition; NaN while unknown.");
    status->end =
        add(&to, METRIC_GAUGE, "kafka_topic_partition_current_offset", partition_labels,
            "High watermark of the partition; NaN while unknown.");
    status->stable = add(&to, METRIC_GAUGE, "heddle_last_stable_offset", partition_labels,
                         "Up to which a read_committed reader gets: below the high "
                         "watermark while a transaction is open; NaN while unknown.");
    status->commits =
        add_one(&to, METRIC_COUNTER, "heddle_commits_total", "Batches committed.");
    status->aborts = add_one(&to, METRIC_COUNTER, "heddle_aborts_total",
                             "Batches given up, whose records are read again.");
    status->batch_records =
        add_one(&to, METRIC_HISTOGRAM, "heddle_batch_records", "Records of a batch.");
    status->open_records = add_one(&to, METRIC_GAUGE, "heddle_open_records",
                                   "Records worked on and not committed yet.");
    status->stuck = add_one(&to, METRIC_GAUGE, "heddle_stuck_partitions",
                            "Partitions with data that have not advanced for half a "
                            "minute.");
    status->commit_seconds = add_one(&to, METRIC_HISTOGRAM, "heddle_commit_seconds",
                                     "Time to deliver and commit a batch.");
    status->record_seconds = add_one(&to, METRIC_HISTOGRAM, "heddle_record_seconds",
                                     "Time from bytes to what a record gives.");
    status->rebalances = add_one(&to, METRIC_COUNTER, "heddle_rebalances_total",
                                 "Assignments and revocations of partitions.");
    status->assigned = add_one(&to, METRIC_GAUGE, "heddle_assigned_partitions",
                               "Partitions assigned to this process.");
    status->paused = add_one(&to, METRIC_GAUGE, "heddle_paused_partitions",
                             "Partitions whose next record is tried again later.");
    status->broker_up = add_one(&to, METRIC_GAUGE, "heddle_broker_up",
                                "1 while a broker connection is up.");
    status->queued = add_one(&to, METRIC_GAUGE, "heddle_queued_records",
                             "Records produced and not acknowledged yet.");
    status->late = add_one(&to, METRIC_COUNTER, "heddle_late_records_total",
                           "Records in work past their deadline.");
    return to.failed ? err->kind : ERR_OK;
}

void
runner_status_done(struct runner_status *status)
{
    pthread_mutex_destroy(&status->lock);
}

void
status_turned(struct runner_status *status)
{
    atomic_store(&status->turned_ms, clock_monotonic_ms());
}

void
status_busy(struct runner_status *status, const struct message *in)
{
    atomic_store(&status->busy_partition, in->partition);
    atomic_store(&status->busy_offset, in->offset);
    atomic_store(&status->busy_since_ms, clock_monotonic_ms());
}

void
status_idle(struct runner_status *status)
{
    atomic_store(&status->busy_since_ms, 0);
}

void
status_record(struct runner_status *status, int32_t partition, const char *outcome)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%d", (int)partition);
    const char *const values[] = {number, outcome};
    series_add(metric_series(status->records, values), 1);
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
