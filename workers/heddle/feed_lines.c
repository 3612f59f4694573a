/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a file or pipe, each sent as an event of its own. */
#include "feed_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "event_line.h"

enum { PIECE_BYTES = 256 * 1024, NAME_BYTES = 320 };

struct lines {
    const struct feed_target *target;
    const volatile sig_atomic_t *stop;
    FILE *file;
    const char *name;
    struct buf line;
    struct arena arena;
    size_t number;
};

static void
lines_done(struct lines *lines)
{
    if (lines->file && lines->file != stdin)
        fclose(lines->file);
    buf_done(&lines->line);
    arena_done(&lines->arena);
}

static void
refuse_line(struct lines *lines, const char *message)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.256s:%zu", lines->name, lines->number);
    lines->target->report->tallies[FEED_RUNS].skipped++;
    feed_problem(lines->target->report, name, message);
}

static enum err_kind
send_line(struct lines *lines, struct slice text, struct err *err)
{
    const struct feed_target *target = lines->target;
    struct tuning_parts parts;
    struct tuning_log log;
    char name[NAME_BYTES];
    arena_reset(&lines->arena);
    enum err_kind kind = event_line_read(text, &lines->arena, &parts, &log, err);
    if (!kind) {
        parts.defaults = target->defaults;
        parts.n_defaults = target->n_defaults;
        parts.node = target->node;
        snprintf(name, sizeof name, "%.256s:%zu", lines->name, lines->number);
        struct delivery *delivery = delivery_new(name, NULL, 0);
        kind = delivery ? feeder_send(target->feeder, &parts, delivery, err)
                        : err_no_memory(err, "a delivery");
    }
    if (kind != ERR_RECORD)
        return kind;
    refuse_line(lines, err->msg);
    *err = (struct err){0};
    return ERR_OK;
}

static bool
is_blank(struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r", text.data[i]) || text.data[i] == '\0')
            return false;
    return true;
}

static enum err_kind
end_line(struct lines *lines, struct err *err)
{
    enum err_kind kind = ERR_OK;
    lines->number++;
    if (lines->line.failed) {
        lines->target->report->tallies[FEED_RUNS].found++;
        refuse_line(lines, "longer than a line may be (64 MiB)");
    } else if (!is_blank(buf_slice(&lines->line))) {
        lines->target->report->tallies[FEED_RUNS].found++;
        kind = send_line(lines, buf_slice(&lines->line), err);
    }
    feed_show(lines->target->report, lines->target->feeder);
    buf_reset(&lines->line);
    return kind;
}

static enum err_kind
take_piece(struct lines *lines, const char *piece, size_t len, struct err *err)
{
    while (len > 0) {
        const char *end = memchr(piece, '\n', len);
        size_t n = end ? (size_t)(end - piece) : len;
        buf_add(&lines->line, piece, n);
        if (end && end_line(lines, err))
            return err->kind;
        n += end != NULL;
        piece += n;
        len -= n;
    }
    return ERR_OK;
}

static enum err_kind
send_lines(struct lines *lines, struct err *err)
{
    CLEANUP(buf_done) struct buf piece = BUF_INIT;
    if (!buf_reserve(&piece, PIECE_BYTES))
        return err_no_memory(err, "a piece of the events");
    for (;;) {
        /* Not fread(): a pipe's lines go out as they come. */
        ssize_t n = read(fileno(lines->file), piece.data, PIECE_BYTES);
        if (*lines->stop)
            return err_set(err, ERR_RETRY, "interrupted", "interrupted");
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            refuse_line(lines, strerror(errno));
            return ERR_OK;
        }
        if (n == 0)
            break;
        if (take_piece(lines, piece.data, (size_t)n, err))
            return err->kind;
    }
    bool open_line = lines->line.len > 0 || lines->line.failed;
    return open_line ? end_line(lines, err) : ERR_OK;
}

enum err_kind
feed_lines(const struct feed_target *target,
           const char *path,
           const volatile sig_atomic_t *stop,
           struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    CLEANUP(lines_done)
    struct lines lines = {
        .target = target,
        .stop = stop,
        .file = standard ? stdin : fopen(path, "rbe"),
        .name = standard ? "standard input" : path,
    };
    buf_init(&lines.line, EVENT_LINE_MAX_BYTES);
    if (!lines.file) {
        feed_problem(target->report, lines.name, strerror(errno));
        return ERR_OK;
    }
    progress_start(&target->report->progress, "events", 0);
    return send_lines(&lines, err);
}
