/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON line of a corpus to the parts of one tuning event. */
#include "event_line.h"

#include <errno.h>
#include <stdlib.h>

#include "json_scan.h"

/* A member of the line; raw.data NULL: it is not there. */
struct member {
    const char *name;
    enum json_type type;
    struct slice raw;
};

enum {
    TYPE,
    WORKSPACE,
    TRACE,
    TUNER,
    TEXT,
    STARTED_AT,
    TIME,
    VALUE,
    VALUE_TEXT,
    MEMBERS
};

struct event_line {
    struct arena *arena;
    struct member members[MEMBERS];
};

static enum err_kind
note_member(void *state,
            struct slice key,
            enum json_type type,
            struct slice value,
            struct err *err)
{
    struct event_line *line = state;
    struct slice name = json_scan_string(key, line->arena);
    if (!name.data)
        return err_no_memory(err, "a line of events");
    for (size_t i = 0; i < MEMBERS; i++)
        if (slice_is(name, line->members[i].name)) {
            line->members[i].type = type;
            line->members[i].raw = value;
        }
    return ERR_OK;
}

static enum err_kind
invalid(const char *name, const char *want, struct err *err)
{
    return err_set(err, ERR_RECORD, "event_line_invalid", "`%s` must be %s", name, want);
}

/* A string; null and absent give a null slice unless it is wanted. */
static enum err_kind
get_string(const struct event_line *line,
           size_t i,
           bool wanted,
           struct slice *ret,
           struct err *err)
{
    const struct member *member = &line->members[i];
    bool absent = !member->raw.data || member->type == JSON_TYPE_NULL;
    if (absent && !wanted)
        return ERR_OK;
    if (absent || member->type != JSON_TYPE_STRING)
        return invalid(member->name, "a string", err);
    *ret = json_scan_string(member->raw, line->arena);
    return ret->data ? ERR_OK : err_no_memory(err, "a line of events");
}

static enum err_kind
get_time(const struct event_line *line, int64_t *ret_us, struct err *err)
{
    const struct member *member = &line->members[TIME];
    struct slice raw = member->raw;
    char text[32], *end;
    if (!raw.data || member->type != JSON_TYPE_NUMBER || raw.len >= sizeof text)
        return invalid(member->name, "microseconds as a whole number", err);
    memcpy(text, raw.data, raw.len);
    text[raw.len] = '\0';
    errno = 0;
    long long us = strtoll(text, &end, 10);
    if (errno || *end != '\0')
        return invalid(member->name, "microseconds as a whole number", err);
    *ret_us = us;
    return ERR_OK;
}

static void
set_part(struct tuning_part *part, struct slice bytes, int64_t event_time_us)
{
    *part = (struct tuning_part){.present = true,
                                 .bytes = bytes,
                                 .size = (int64_t)bytes.len,
                                 .event_time_us = event_time_us};
    digest_hex(bytes, part->sha256);
}

/* value_text, else value as it stands in the line. */
static enum err_kind
get_document(const struct event_line *line, struct slice *ret, struct err *err)
{
    if (line->members[VALUE_TEXT].raw.data)
        return get_string(line, VALUE_TEXT, true, ret, err);
    if (!line->members[VALUE].raw.data)
        return invalid("value", "there (or `value_text`)", err);
    *ret = line->members[VALUE].raw;
    return ERR_OK;
}

static enum err_kind
fill_log(const struct event_line *line,
         int64_t us,
         struct tuning_parts *parts,
         struct tuning_log *log,
         struct err *err)
{
    struct slice text;
    if (get_string(line, TUNER, true, &log->tuner, err) ||
        get_string(line, TEXT, true, &text, err))
        return err->kind;
    set_part(&log->part, text, us);
    parts->logs = log;
    parts->n_logs = 1;
    return ERR_OK;
}

static enum err_kind
fill(const struct event_line *line,
     struct tuning_parts *parts,
     struct tuning_log *log,
     struct err *err)
{
    struct slice type, document;
    int64_t us = 0;
    if (get_string(line, TYPE, true, &type, err) || get_time(line, &us, err) ||
        get_string(line, WORKSPACE, false, &parts->workspace, err) ||
        get_string(line, TRACE, false, &parts->trace, err) ||
        get_string(line, STARTED_AT, false, &parts->started_at, err))
        return err->kind;
    if (slice_is(type, "tune_log"))
        return fill_log(line, us, parts, log, err);
    bool result = slice_is(type, "tuning_result");
    if (!result && !slice_is(type, "e2e_result"))
        return invalid("type", "tune_log, tuning_result or e2e_result", err);
    if (get_document(line, &document, err))
        return err->kind;
    set_part(result ? &parts->result : &parts->e2e, document, us);
    return ERR_OK;
}

enum err_kind
event_line_read(struct slice text,
                struct arena *arena,
                struct tuning_parts *ret_parts,
                struct tuning_log *log,
                struct err *err)
{
    struct event_line line = {
        .arena = arena,
        .members = {{.name = "type"},
                    {.name = "workspace"},
                    {.name = "trace"},
                    {.name = "tuner"},
                    {.name = "text"},
                    {.name = "started_at"},
                    {.name = "event_time_us"},
                    {.name = "value"},
                    {.name = "value_text"}},
    };
    struct tuning_parts parts = {.workspace = SLICE("")};
    *log = (struct tuning_log){0};
    enum err_kind kind = json_scan_members(text, note_member, &line, err);
    if (kind || (kind = fill(&line, &parts, log, err)) != ERR_OK)
        return kind;
    *ret_parts = parts;
    return ERR_OK;
}
