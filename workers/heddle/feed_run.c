/* SPDX-License-Identifier: Apache-2.0 */
/* Compare with the memory, read, check, send: one run, top to bottom. */
#include "feed_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json_scan.h"
#include "part_file.h"

/* What was read of a run: one slot for each file that was found. */
struct reading {
    struct part_file result;
    struct part_file *logs;
    struct part_file e2e;
    size_t n_logs; /* slots, those of the run */
    size_t held;
    struct tuning_log *parts_logs;
};

CLEANUP_DEFINE(struct delivery, delivery_free);

static void
reading_done(struct reading *reading)
{
    part_file_done(&reading->result);
    part_file_done(&reading->e2e);
    for (size_t i = 0; reading->logs && i < reading->n_logs; i++)
        part_file_done(&reading->logs[i]);
    free(reading->logs);
    free(reading->parts_logs);
}

static enum err_kind
reading_init(struct reading *reading, const struct campaign_run *run, struct err *err)
{
    size_t n = run->n_logs ? run->n_logs : 1;
    reading->n_logs = run->n_logs;
    reading->logs = calloc(n, sizeof reading->logs[0]);
    reading->parts_logs = calloc(n, sizeof reading->parts_logs[0]);
    return reading->logs && reading->parts_logs ? ERR_OK : err_no_memory(err, "a run");
}

static struct tuning_parts
parts_of(const struct feed_target *target, const struct campaign_run *run)
{
    return (struct tuning_parts){.workspace = slice_of(run->workspace),
                                 .defaults = target->defaults,
                                 .n_defaults = target->n_defaults,
                                 .node = target->node};
}

/* --- what is known ----------------------------------------------------------------- */

/* Fills a part from the memory; `*ret_same` becomes false when the file is another. */
static enum err_kind
recall_part(const struct feed_target *target,
            const struct campaign_file *file,
            struct tuning_part *part,
            bool *ret_same,
            struct err *err)
{
    struct sent_file known;
    bool found;
    if (!file->path || !*ret_same)
        return ERR_OK;
    if (sent_get_file(target->sent, file->path, &known, &found, err))
        return err->kind;
    *ret_same = found && known.size == file->size && known.mtime_ns == file->mtime_ns &&
                known.inode == file->inode;
    part->present = true;
    part->event_time_us = part_file_us(file->mtime_ns);
    memcpy(part->sha256, *ret_same ? known.sha256 : "", *ret_same ? DIGEST_HEX : 1);
    return ERR_OK;
}

/* The files are the ones that were sent; so is the event, unless --set says otherwise. */
static enum err_kind
same_event(const struct feed_target *target,
           const struct tuning_parts *parts,
           const char *workspace,
           bool *ret_same,
           struct err *err)
{
    char id[DIGEST_HEX], known[DIGEST_HEX];
    bool found;
    if (tuning_event_id(parts, id, err) ||
        sent_get_event(target->sent, workspace, known, &found, err))
        return err->kind;
    *ret_same = found && strcmp(id, known) == 0;
    return ERR_OK;
}

static enum err_kind
is_known(const struct feed_target *target,
         const struct campaign_run *run,
         struct reading *reading,
         bool *ret_known,
         struct err *err)
{
    struct tuning_parts parts = parts_of(target, run);
    bool same = !target->again;
    if (recall_part(target, &run->result, &parts.result, &same, err) ||
        recall_part(target, &run->e2e, &parts.e2e, &same, err))
        return err->kind;
    parts.logs = reading->parts_logs;
    parts.n_logs = run->n_logs;
    for (size_t i = 0; i < run->n_logs && same; i++) {
        reading->parts_logs[i].tuner = slice_of(run->logs[i].tuner);
        if (recall_part(target, &run->logs[i].file, &reading->parts_logs[i].part, &same,
                        err))
            return err->kind;
    }
    if (same && same_event(target, &parts, run->workspace, &same, err))
        return err->kind;
    *ret_known = same;
    return ERR_OK;
}

/* --- reading ----------------------------------------------------------------------- */

/* What an error means here: ERR_RECORD is told and the file left out. */
static enum err_kind
read_part(const struct feed_target *target,
          const struct campaign_file *file,
          struct reading *reading,
          struct part_file *read,
          struct tuning_part *part,
          struct err *err)
{
    size_t keep = reading->held < FEED_HELD_BYTES ? TUNING_INLINE_BYTES : 0;
    struct err failed = {0};
    if (!file->path)
        return ERR_OK;
    enum err_kind kind =
        part_file_read(file->path, keep, part_file_now_ns(), read, &failed);
    if (kind == ERR_RECORD) {
        const char *reason = failed.msg + strlen(file->path) + 2;
        feed_problem(target->report, file->path, reason);
        return ERR_OK;
    }
    if (kind) {
        *err = failed;
        return kind;
    }
    reading->held += read->bytes.len;
    *part = (struct tuning_part){.present = true,
                                 .bytes = buf_slice(&read->bytes),
                                 .path = slice_of(file->path),
                                 .size = read->size,
                                 .event_time_us = part_file_us(read->mtime_ns)};
    if (!read->kept)
        part->bytes = (struct slice){0};
    memcpy(part->sha256, read->sha256, DIGEST_HEX);
    return ERR_OK;
}

static enum err_kind
read_run(const struct feed_target *target,
         const struct campaign_run *run,
         struct reading *reading,
         struct tuning_parts *parts,
         struct err *err)
{
    *parts = parts_of(target, run);
    parts->logs = reading->parts_logs;
    if (read_part(target, &run->result, reading, &reading->result, &parts->result, err) ||
        read_part(target, &run->e2e, reading, &reading->e2e, &parts->e2e, err))
        return err->kind;
    for (size_t i = 0; i < run->n_logs; i++) {
        struct tuning_log *log = &parts->logs[parts->n_logs];
        *log = (struct tuning_log){.tuner = slice_of(run->logs[i].tuner)};
        if (read_part(target, &run->logs[i].file, reading, &reading->logs[i], &log->part,
                      err))
            return err->kind;
        parts->n_logs += log->part.present;
    }
    return ERR_OK;
}

/* Half a document goes out as it is, for the audit to refuse with its bytes; but its
 * writer may have died on it, so it is told here, where the file can still be seen. */
static void
check_document(const struct feed_target *target, const struct tuning_part *part)
{
    enum json_type type = JSON_TYPE_NULL;
    struct err failed = {0};
    char message[ERR_MSG_BYTES + 128];
    if (!part->present || !part->bytes.data)
        return;
    struct slice text = part->bytes;
    if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        text = (struct slice){text.data + 3, text.len - 3};
    if (json_scan_check(text, &type, &failed))
        snprintf(message, sizeof message,
                 "half-written or damaged (%s); sent as it is, the audit refuses it",
                 part->bytes.len ? failed.msg : "it is empty");
    else if (type != JSON_TYPE_OBJECT)
        snprintf(message, sizeof message,
                 "a JSON %s where an object belongs; sent as it is, the audit refuses it",
                 json_type_name(type));
    else
        return;
    feed_problem(target->report, part->path.data, message);
}

/* --- sending ----------------------------------------------------------------------- */

static bool
note_file(struct delivery *delivery,
          const struct campaign_file *file,
          const struct part_file *read,
          const struct tuning_part *part)
{
    if (!part->present)
        return true;
    struct sent_file sent = {read->size, read->mtime_ns, read->inode, ""};
    memcpy(sent.sha256, read->sha256, DIGEST_HEX);
    return delivery_add(delivery, file->path, &sent);
}

static struct delivery *
make_delivery(const struct feed_target *target,
              const struct campaign_run *run,
              const struct reading *reading,
              const struct tuning_parts *parts,
              struct err *err)
{
    CLEANUP(delivery_freep)
    struct delivery *delivery =
        delivery_new(run->workspace, target->sent, run->n_logs + 2);
    bool good = delivery &&
                note_file(delivery, &run->result, &reading->result, &parts->result) &&
                note_file(delivery, &run->e2e, &reading->e2e, &parts->e2e);
    /* A file that was left out has no digest and is no slot of the parts. */
    for (size_t i = 0; i < run->n_logs && good; i++) {
        struct tuning_part part = {.present = reading->logs[i].sha256[0] != '\0'};
        good = note_file(delivery, &run->logs[i].file, &reading->logs[i], &part);
    }
    if (!good) {
        err_no_memory(err, "a delivery");
        return NULL;
    }
    struct delivery *ret = delivery;
    delivery = NULL;
    return ret;
}

static enum err_kind
send_run(const struct feed_target *target,
         const struct campaign_run *run,
         const struct reading *reading,
         const struct tuning_parts *parts,
         enum feed_outcome *ret_outcome,
         struct err *err)
{
    struct delivery *delivery = make_delivery(target, run, reading, parts, err);
    if (!delivery)
        return err->kind;
    enum err_kind kind = feeder_send(target->feeder, parts, delivery, err);
    *ret_outcome = kind ? FEED_SKIPPED : FEED_QUEUED;
    if (kind != ERR_RECORD)
        return kind;
    if (strcmp(err->code, "event_without_parts") != 0) /* its parts were told */
        feed_problem(target->report, run->workspace, err->msg);
    *err = (struct err){0};
    return ERR_OK;
}

/* A verdict that is older than the result judged an earlier attempt. */
static struct campaign_run
without_old_verdict(const struct feed_target *target, const struct campaign_run *run)
{
    struct campaign_run ours = *run;
    if (run->e2e.path && run->result.path && run->e2e.mtime_ns < run->result.mtime_ns) {
        feed_note(target->report, run->e2e.path,
                  "older than result.json, so of an earlier attempt; not sent");
        ours.e2e = (struct campaign_file){0};
    }
    return ours;
}

enum err_kind
feed_run(const struct feed_target *target,
         const struct campaign_run *run,
         enum feed_outcome *ret_outcome,
         struct err *ret_why,
         struct err *err)
{
    CLEANUP(reading_done) struct reading reading = {0};
    struct campaign_run ours = without_old_verdict(target, run);
    struct tuning_parts parts;
    bool known = false;
    if (reading_init(&reading, &ours, err) ||
        is_known(target, &ours, &reading, &known, err))
        return err->kind;
    *ret_outcome = FEED_UNCHANGED;
    if (known)
        return ERR_OK;
    enum err_kind kind = read_run(target, &ours, &reading, &parts, err);
    if (kind == ERR_RETRY) {
        *ret_outcome = FEED_LATER;
        *ret_why = *err;
        *err = (struct err){0};
        return ERR_OK;
    }
    if (kind)
        return kind;
    check_document(target, &parts.result);
    check_document(target, &parts.e2e);
    return send_run(target, &ours, &reading, &parts, ret_outcome, err);
}
