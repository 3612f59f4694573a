/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of a run. */
#include "logs.h"

#include "digest.h"
#include "json.h"
#include "text.h"

#include <stdlib.h>

static int
compare_logs(const void *a, const void *b)
{
    const struct run_log *x = a;
    const struct run_log *y = b;
    int d = slice_compare(x->tuner, y->tuner);
    return d ? d
             : (x->part->event_time_us > y->part->event_time_us) -
                   (x->part->event_time_us < y->part->event_time_us);
}

static bool
is_level(const struct run_log *a, const struct run_log *b)
{
    return compare_logs(a, b) == 0;
}

/* Of logs of one tuner and time the one with the greatest SHA-256; each is hashed once.
 */
static struct run_log
greatest(const struct run_log *logs, size_t n)
{
    if (n == 1)
        return logs[0];
    uint8_t best[DIGEST_BYTES];
    size_t at = 0;
    digest_sha256(logs[0].part->bytes, best);
    for (size_t i = 1; i < n; i++) {
        uint8_t digest[DIGEST_BYTES];
        digest_sha256(logs[i].part->bytes, digest);
        if (memcmp(digest, best, sizeof best) > 0) {
            memcpy(best, digest, sizeof best);
            at = i;
        }
    }
    return logs[at];
}

/* Sorted, the log that stands is among the last of its tuner. */
static void
keep_standing(struct run_logs *logs)
{
    size_t n = 0;
    for (size_t i = 0; i < logs->n;) {
        size_t first = i;
        while (i < logs->n && slice_equal(logs->items[i].tuner, logs->items[first].tuner))
            i++;
        size_t last = i - 1;
        while (last > first && is_level(&logs->items[last - 1], &logs->items[i - 1]))
            last--;
        logs->items[n++] = greatest(&logs->items[last], i - last);
    }
    logs->n = n;
}

enum err_kind
logs_scan(const struct audit_log *parts,
          size_t n,
          struct arena *arena,
          struct run_logs *ret_logs,
          struct err *err)
{
    struct run_logs logs = {arena_calloc(arena, n, sizeof *logs.items), n};
    if (!logs.items)
        return audit_full(err);
    for (size_t i = 0; i < n; i++) {
        struct slice name = parts[i].tuner.len ? parts[i].tuner : SLICE("");
        logs.items[i].part = &parts[i];
        logs.items[i].tuner = text_repair(arena, name);
        if (!logs.items[i].tuner.data)
            return audit_full(err);
    }
    if (n > 1)
        qsort(logs.items, n, sizeof *logs.items, compare_logs);
    keep_standing(&logs);
    for (size_t i = 0; i < logs.n; i++)
        if (log_scan(logs.items[i].part->bytes, arena, &logs.items[i].scan, err))
            return err->kind;
    *ret_logs = logs;
    return ERR_OK;
}

enum err_kind
logs_join(struct run_logs *logs,
          struct tuners *tuners,
          struct notes *notes,
          struct err *err)
{
    for (size_t i = 0; i < logs->n; i++) {
        struct run_log *log = &logs->items[i];
        size_t n = 0;
        struct tuner **named = tuners_named(tuners, log->tuner, &n);
        log->used = n > 0;
        if (n)
            named[n - 1]->log = &log->scan;
        else if (notes_add(notes, "orphan_log", log->tuner, err))
            return err->kind;
    }
    return ERR_OK;
}

void
logs_write_orphans(const struct run_logs *logs, struct buf *out)
{
    const char *before = "{";
    for (size_t i = 0; i < logs->n; i++) {
        if (logs->items[i].used)
            continue;
        buf_add_str(out, before);
        json_write_string(out, logs->items[i].tuner);
        buf_add(out, ": ", 2);
        log_scan_write(&logs->items[i].scan, out);
        before = ", ";
    }
    buf_add_byte(out, '}');
}
