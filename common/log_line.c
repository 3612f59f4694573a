/* SPDX-License-Identifier: Apache-2.0 */
/* One event as one line of text or JSON. */
#include "log_line.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

static const char *const level_names[] = {"debug", "info", "warning", "error"};

/* Length of the UTF-8 sequence at `text`, 0 when its bytes are none. */
static size_t
sequence_length(const unsigned char *text, size_t left)
{
    unsigned char lead = text[0];
    if (lead < 0x80)
        return 1;
    size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and above U+10FFFF. */
    if ((lead == 0xE0 && text[1] < 0xA0) || (lead == 0xED && text[1] > 0x9F) ||
        (lead == 0xF0 && text[1] < 0x90) || (lead == 0xF4 && text[1] > 0x8F))
        return 0;
    return len;
}

static void
add_byte_escaped(struct buf *out, unsigned char c)
{
    switch (c) {
    case '"':
        buf_add_str(out, "\\\"");
        return;
    case '\\':
        buf_add_str(out, "\\\\");
        return;
    case '\n':
        buf_add_str(out, "\\n");
        return;
    case '\r':
        buf_add_str(out, "\\r");
        return;
    case '\t':
        buf_add_str(out, "\\t");
        return;
    default:
        break;
    }
    if (c < 0x20 || c == 0x7F)
        buf_addf(out, "\\u%04x", c);
    else
        buf_add_byte(out, (char)c);
}

/* Escaped and cut; `plain` leaves quotes and backslashes as they are. */
static void
add_text(struct buf *out, struct slice text, bool plain)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t i = 0;
    while (i < text.len) {
        size_t len = sequence_length(bytes + i, text.len - i);
        if (i + (len ? len : 1) > LOG_VALUE_BYTES) {
            buf_add_str(out, "...");
            return;
        }
        if (len == 0)
            buf_add_str(out, "\xEF\xBF\xBD");
        else if (len == 1 && !(plain && (bytes[i] == '"' || bytes[i] == '\\')))
            add_byte_escaped(out, bytes[i]);
        else
            buf_add(out, bytes + i, len);
        i += len ? len : 1;
    }
}

static void
add_quoted(struct buf *out, struct slice text)
{
    buf_add_byte(out, '"');
    add_text(out, text, false);
    buf_add_byte(out, '"');
}

static void
add_time(struct buf *out, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    int64_t rest = time_ms % 1000;
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    struct tm utc;
    if (!gmtime_r(&seconds, &utc)) {
        buf_addf(out, "%" PRId64, time_ms);
        return;
    }
    buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03" PRId64 "Z", utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, rest);
}

/* A double as JSON has it, which knows neither infinity nor NaN. */
static void
add_real(struct buf *out, double value, bool json)
{
    if (isfinite(value))
        buf_addf(out, "%.9g", value);
    else
        buf_add_str(out, json           ? "null"
                         : isnan(value) ? "nan"
                         : value > 0    ? "inf"
                                        : "-inf");
}

static bool
needs_quotes(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7F)
            return true;
    }
    return text.len == 0;
}

static void
add_value(struct buf *out, const struct log_field *field, bool json)
{
    switch (field->type) {
    case LOG_FIELD_TEXT:
        if (json || needs_quotes(field->text))
            add_quoted(out, field->text);
        else
            add_text(out, field->text, false);
        return;
    case LOG_FIELD_INT:
        buf_addf(out, "%" PRId64, field->integer);
        return;
    case LOG_FIELD_BOOL:
        buf_add_str(out, field->integer ? "true" : "false");
        return;
    case LOG_FIELD_DOUBLE:
        add_real(out, field->real, json);
        return;
    }
}

static bool
is_left_out(const struct log_field *field)
{
    return field->type == LOG_FIELD_TEXT && !field->text.data;
}

static void
add_json(const struct log_event *event, struct buf *out)
{
    buf_add_str(out, "{\"time\":\"");
    add_time(out, event->time_ms);
    buf_addf(out, "\",\"level\":\"%s\",\"program\":", level_names[event->level]);
    add_quoted(out, slice_of(event->program));
    buf_add_str(out, ",\"msg\":");
    add_quoted(out, slice_of(event->msg));
    for (size_t i = 0; i < event->n_fields; i++) {
        if (is_left_out(&event->fields[i]))
            continue;
        buf_add_byte(out, ',');
        add_quoted(out, slice_of(event->fields[i].name));
        buf_add_byte(out, ':');
        add_value(out, &event->fields[i], true);
    }
    buf_add_byte(out, '}');
}

static void
add_plain(const struct log_event *event, struct buf *out)
{
    add_time(out, event->time_ms);
    buf_addf(out, " %s ", level_names[event->level]);
    add_text(out, slice_of(event->program), true);
    buf_add_str(out, ": ");
    add_text(out, slice_of(event->msg), true);
    for (size_t i = 0; i < event->n_fields; i++) {
        if (is_left_out(&event->fields[i]))
            continue;
        buf_addf(out, " %s=", event->fields[i].name);
        add_value(out, &event->fields[i], false);
    }
}

void
log_line(enum log_format format, const struct log_event *event, struct buf *out)
{
    if (format == LOG_JSON)
        add_json(event, out);
    else
        add_plain(event, out);
    buf_add_byte(out, '\n');
}
