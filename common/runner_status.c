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
    STUCK_AFTER_MS = 30000, /* a record tried again for so long makes us not ready */
    DEAD_AFTER_MS = 600000, /* a loop that has not turned for so long is not alive */
};

static const char *const partition_labels[] = {"topic", "partition", NULL};
static const char *const outcome_labels[] = {"partition", "outcome", NULL};
static const char *const topic_labels[] = {"topic", NULL};
static const char *const dead_labels[] = {"stage", "code", NULL};
static const double second_buckets[] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05,
                                        0.1,    0.5,    1,     5,     30};

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
        spec.buckets = second_buckets;
        spec.n_buckets = sizeof second_buckets / sizeof second_buckets[0];
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
                   const char *delivery,
                   int64_t job_deadline_ms,
                   struct err *err)
{
    struct adder to = {metrics, err, false};
    *status = (struct runner_status){
        .input = input, .delivery = delivery, .job_deadline_ms = job_deadline_ms};
    pthread_mutex_init(&status->lock, NULL);
    status->records =
        add(&to, METRIC_COUNTER, "heddle_records_total", outcome_labels,
            "Records of the input by what became of them: ok, dead or retry.");
    status->emitted = add(&to, METRIC_COUNTER, "heddle_emitted_total", topic_labels,
                          "Records produced, by topic.");
    status->dead = add(&to, METRIC_COUNTER, "heddle_dead_letters_total", dead_labels,
                       "Dead letters by stage and code.");
    status->lag = add(&to, METRIC_GAUGE, "heddle_lag_records", partition_labels,
                      "Records not committed yet; NaN while unknown.");
    status->position = add(&to, METRIC_GAUGE, "heddle_committed_offset", partition_labels,
                           "Committed offset; NaN without a commit.");
    status->end = add(&to, METRIC_GAUGE, "heddle_end_offset", partition_labels,
                      "End of the partition as last fetched; NaN while unknown.");
    status->commits =
        add_one(&to, METRIC_COUNTER, "heddle_commits_total", "Batches committed.");
    status->aborts = add_one(&to, METRIC_COUNTER, "heddle_aborts_total",
                             "Batches given up, whose records are read again.");
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
status_commit(struct runner_status *status, int64_t took_ms)
{
    series_add(status->commits, 1);
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

void
status_partition(struct runner_status *status,
                 int32_t partition,
                 int64_t committed,
                 int64_t start,
                 int64_t end)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%d", (int)partition);
    const char *const values[] = {status->input, number};
    int64_t from = committed > start ? committed : start;
    int64_t lag = end < 0 ? -1 : end > from ? end - from : 0;
    series_set(metric_series(status->lag, values), known(lag));
    series_set(metric_series(status->position, values), known(committed));
    series_set(metric_series(status->end, values), known(end));
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
    bool stuck = held_ms && now_ms - held_ms > STUCK_AFTER_MS;
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
