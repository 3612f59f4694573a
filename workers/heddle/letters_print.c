/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters as tables and JSON. */
#include "letters_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "line_form.h"
#include "tap_line.h"
#include "text.h"
#include "time_point.h"

enum { CELL_MAX = 48, PLACE_BYTES = 48 };

/* --- text for a terminal ------------------------------------------------------------ */

static bool
is_control(uint32_t point, bool lines)
{
    if (lines && (point == '\n' || point == '\t'))
        return false;
    return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

/* A piece of valid UTF-8; returns how many characters it took. */
static size_t
add_valid(struct buf *out, struct slice text, size_t max, bool lines)
{
    const char *at = text.data;
    size_t n = 0;
    while (at < text.data + text.len && (max == 0 || n < max)) {
        const char *from = at;
        uint32_t point = text_next(&at, text.data + text.len);
        if (is_control(point, lines))
            buf_add_byte(out, '?');
        else
            buf_add(out, from, (size_t)(at - from));
        n++;
    }
    return n;
}

void
letters_text_clean(struct buf *out, struct slice text, size_t max, bool lines)
{
    size_t n = 0;
    while (text.len > 0 && (max == 0 || n < max)) {
        size_t good = text_bad(text);
        n += add_valid(out, (struct slice){text.data, good}, max ? max - n : 0, lines);
        text.data += good;
        text.len -= good;
        if (text.len == 0 || (max && n == max))
            break;
        buf_add_byte(out, '?');
        n++;
        text.data++;
        text.len--;
    }
}

/* --- a list ------------------------------------------------------------------------- */

static bool
is_settled(const struct letter *letter)
{
    return letter->state == LETTER_REQUEUED || letter->state == LETTER_DROPPED;
}

static bool
is_listed(const struct letter *letter, const struct letters_list *how)
{
    if (how->actions)
        return letter->action != LETTER_PASS;
    return how->settled || !is_settled(letter);
}

static const char *
action_name(const struct letter *letter, const struct letters_list *how)
{
    if (letter->action != LETTER_TAKE)
        return "leave";
    if (how->drop)
        return how->done ? "dropped" : "drop";
    return how->done ? "requeued" : "requeue";
}

enum column { COLUMN_CODE, COLUMN_STAGE, COLUMN_ORIGIN, COLUMN_WORKER, COLUMNS };

struct cells {
    struct buf text; /* of all columns, one after the other */
    size_t start[COLUMNS + 1];
};

static void
cells_done(struct cells *cells)
{
    buf_done(&cells->text);
}

static void
add_number_or_dash(struct buf *out, int64_t number)
{
    if (number < 0)
        buf_add_byte(out, '-');
    else
        buf_addf(out, "%" PRId64, number);
}

static void
add_text_or_dash(struct buf *out, struct slice text)
{
    if (text.len == 0)
        buf_add_byte(out, '-');
    else
        letters_text_clean(out, text, CELL_MAX, false);
}

static void
add_origin(const struct letters *letters, const struct letter *letter, struct buf *out)
{
    add_text_or_dash(out, letters_text(letters, letter->origin_topic));
    buf_add_byte(out, ':');
    add_number_or_dash(out, letter->origin_partition);
    buf_add_byte(out, ':');
    add_number_or_dash(out, letter->origin_offset);
}

static void
fill_cells(const struct letters *letters,
           const struct letter *letter,
           struct cells *cells)
{
    buf_reset(&cells->text);
    for (int column = 0; column < COLUMNS; column++) {
        cells->start[column] = cells->text.len;
        if (column == COLUMN_ORIGIN)
            add_origin(letters, letter, &cells->text);
        else
            add_text_or_dash(&cells->text,
                             letters_text(letters, column == COLUMN_CODE ? letter->code
                                                   : column == COLUMN_STAGE
                                                       ? letter->stage
                                                       : letter->worker));
    }
    cells->start[COLUMNS] = cells->text.len;
}

static struct slice
cell(const struct cells *cells, int column)
{
    size_t from = cells->start[column];
    return (struct slice){buf_slice(&cells->text).data + from,
                          cells->start[column + 1] - from};
}

static void
add_padded(struct buf *out, struct slice text, size_t width)
{
    size_t n = text_count(text);
    buf_add_slice(out, text);
    for (; n < width; n++)
        buf_add_byte(out, ' ');
    buf_add_str(out, "  ");
}

static void
add_row(const struct letters *letters,
        const struct letter *letter,
        const struct letters_list *how,
        const struct cells *cells,
        const size_t *widths,
        struct buf *out)
{
    char place[PLACE_BYTES], when[TIME_TEXT_BYTES];
    snprintf(place, sizeof place, "%" PRId32 ":%" PRId64, letter->partition,
             letter->offset);
    time_point_print(letter->first_failed_at_ms, when);
    if (how->actions)
        buf_addf(out, "%-8s  ", action_name(letter, how));
    buf_addf(out, "%-10s  %-11s  ", place, letter_state_name(letter));
    for (int column = 0; column < COLUMNS; column++)
        add_padded(out, cell(cells, column), widths[column]);
    buf_addf(out, "%7" PRId64 "  %-20s  %9zu  ", letter->attempt, when, letter->size);
    if (letter->has_key)
        letters_text_clean(out, letters_text(letters, letter->key), CELL_MAX, false);
    else
        buf_add_byte(out, '-');
    if (how->actions && letter->reason)
        buf_addf(out, "  (%s)", letter->reason);
    buf_add_byte(out, '\n');
}

static void
add_heading(const struct letters_list *how, const size_t *widths, struct buf *out)
{
    static const char *const names[COLUMNS] = {"code", "stage", "origin", "worker"};
    if (how->actions)
        buf_addf(out, "%-8s  ", "action");
    buf_addf(out, "%-10s  %-11s  ", "place", "state");
    for (int column = 0; column < COLUMNS; column++)
        add_padded(out, slice_of(names[column]), widths[column]);
    buf_addf(out, "%7s  %-20s  %9s  key\n", "attempt", "first failed", "bytes");
}

static void
measure(const struct letters *letters,
        const struct letters_list *how,
        struct cells *cells,
        size_t *widths)
{
    for (size_t i = 0; i < letters->n; i++) {
        if (!is_listed(&letters->items[i], how))
            continue;
        fill_cells(letters, &letters->items[i], cells);
        for (int column = 0; column < COLUMNS; column++) {
            size_t width = text_count(cell(cells, column));
            if (width > widths[column])
                widths[column] = width;
        }
    }
}

static void
add_text_or_null(struct buf *out, struct slice text)
{
    if (text.len == 0)
        buf_add_str(out, "null");
    else
        line_form_string(out, text);
}

static void
add_number_or_null(struct buf *out, int64_t number)
{
    if (number < 0)
        buf_add_str(out, "null");
    else
        buf_addf(out, "%" PRId64, number);
}

static void
add_json(const struct letters *letters,
         const struct letter *letter,
         const struct letters_list *how,
         struct buf *out)
{
    struct slice key = letters_text(letters, letter->key);
    buf_addf(out,
             "{\"partition\": %" PRId32 ", \"offset\": %" PRId64 ", \"state\": \"%s\"",
             letter->partition, letter->offset, letter_state_name(letter));
    buf_add_str(out, ", \"code\": ");
    add_text_or_null(out, letters_text(letters, letter->code));
    buf_add_str(out, ", \"stage\": ");
    add_text_or_null(out, letters_text(letters, letter->stage));
    buf_add_str(out, ", \"origin\": {\"topic\": ");
    add_text_or_null(out, letters_text(letters, letter->origin_topic));
    buf_add_str(out, ", \"partition\": ");
    add_number_or_null(out, letter->origin_partition);
    buf_add_str(out, ", \"offset\": ");
    add_number_or_null(out, letter->origin_offset);
    buf_add_str(out, "}, \"worker\": ");
    add_text_or_null(out, letters_text(letters, letter->worker));
    buf_addf(out, ", \"attempt\": %" PRId64 ", \"first_failed_at\": ", letter->attempt);
    add_number_or_null(out, letter->first_failed_at_ms);
    buf_add_str(out, ", \"timestamp\": ");
    add_number_or_null(out, letter->timestamp_ms);
    buf_addf(out, ", \"size\": %zu, \"key\": ", letter->size);
    tap_bytes(out, letter->has_key ? key : (struct slice){0});
    if (how->actions) {
        buf_addf(out, ", \"action\": \"%s\", \"reason\": ", action_name(letter, how));
        add_text_or_null(out, slice_of(letter->reason));
    }
    buf_add_str(out, "}\n");
}

size_t
letters_list(const struct letters *letters,
             const struct letters_list *how,
             struct buf *out)
{
    CLEANUP(cells_done) struct cells cells = {0};
    size_t widths[COLUMNS] = {4, 5, 6, 6}; /* of the headings */
    size_t n = 0;
    if (!how->json)
        measure(letters, how, &cells, widths);
    for (size_t i = 0; i < letters->n; i++) {
        const struct letter *letter = &letters->items[i];
        if (!is_listed(letter, how))
            continue;
        if (!how->actions && how->limit && n == (size_t)how->limit)
            break;
        if (n++ == 0 && !how->json)
            add_heading(how, widths, out);
        if (how->json) {
            add_json(letters, letter, how, out);
        } else {
            fill_cells(letters, letter, &cells);
            add_row(letters, letter, how, &cells, widths, out);
        }
    }
    return n;
}

/* --- statistics --------------------------------------------------------------------- */

enum { STATES = LETTER_DROPPED + 1 };

struct group {
    const struct letter *first;
    size_t counts[STATES];
    int64_t oldest_ms, newest_ms;
};

static int
compare_groups(const void *a, const void *b, void *state)
{
    const struct letters *letters = state;
    const struct letter *left = *(const struct letter *const *)a;
    const struct letter *right = *(const struct letter *const *)b;
    int order = slice_compare(letters_text(letters, left->code),
                              letters_text(letters, right->code));
    return order ? order
                 : slice_compare(letters_text(letters, left->origin_topic),
                                 letters_text(letters, right->origin_topic));
}

static void
count(struct group *group, const struct letter *letter)
{
    int64_t time_ms = letter_time_ms(letter);
    if (!group->first) {
        group->first = letter;
        group->oldest_ms = time_ms;
        group->newest_ms = time_ms;
    }
    group->counts[letter->state]++;
    if (time_ms < group->oldest_ms)
        group->oldest_ms = time_ms;
    if (time_ms > group->newest_ms)
        group->newest_ms = time_ms;
}

static void
add_group_json(const struct letters *letters, const struct group *group, struct buf *out)
{
    buf_add_str(out, "{\"code\": ");
    add_text_or_null(out, letters_text(letters, group->first->code));
    buf_add_str(out, ", \"origin_topic\": ");
    add_text_or_null(out, letters_text(letters, group->first->origin_topic));
    for (int state = 0; state < STATES; state++) {
        struct letter named = {.state = (enum letter_state)state};
        buf_addf(out, ", \"%s\": %zu", letter_state_name(&named), group->counts[state]);
    }
    buf_add_str(out, ", \"oldest\": ");
    add_number_or_null(out, group->oldest_ms);
    buf_add_str(out, ", \"newest\": ");
    add_number_or_null(out, group->newest_ms);
    buf_add_str(out, "}\n");
}

static void
add_group_row(const struct letters *letters, const struct group *group, struct buf *out)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    char oldest[TIME_TEXT_BYTES], newest[TIME_TEXT_BYTES];
    time_point_print(group->oldest_ms, oldest);
    time_point_print(group->newest_ms, newest);
    add_text_or_dash(&text, letters_text(letters, group->first->code));
    add_padded(out, buf_slice(&text), 24);
    buf_reset(&text);
    add_text_or_dash(&text, letters_text(letters, group->first->origin_topic));
    add_padded(out, buf_slice(&text), 24);
    for (int state = 0; state < STATES; state++)
        buf_addf(out, "%11zu  ", group->counts[state]);
    buf_addf(out, "%-20s  %s\n", oldest, newest);
}

static void
add_stats_heading(struct buf *out)
{
    add_padded(out, SLICE("code"), 24);
    add_padded(out, SLICE("origin topic"), 24);
    for (int state = 0; state < STATES; state++) {
        struct letter named = {.state = (enum letter_state)state};
        buf_addf(out, "%11s  ", letter_state_name(&named));
    }
    buf_addf(out, "%-20s  %s\n", "oldest", "newest");
}

static void
add_group(const struct letters *letters,
          const struct group *group,
          bool settled,
          bool json,
          struct buf *out)
{
    size_t n_open = group->counts[LETTER_OPEN] + group->counts[LETTER_QUARANTINED] +
                    group->counts[LETTER_UNSURE];
    if (!group->first || (n_open == 0 && !settled))
        return;
    if (json)
        add_group_json(letters, group, out);
    else
        add_group_row(letters, group, out);
}

enum err_kind
letters_stats(const struct letters *letters,
              bool settled,
              bool json,
              struct buf *out,
              struct err *err)
{
    struct group group = {0};
    const struct letter **order = calloc(letters->n + 1, sizeof(struct letter *));
    if (!order)
        return err_no_memory(err, "the groups of dead letters");
    for (size_t i = 0; i < letters->n; i++)
        order[i] = &letters->items[i];
    qsort_r(order, letters->n, sizeof(struct letter *), compare_groups,
            (void *)(uintptr_t)letters);
    if (!json)
        add_stats_heading(out);
    for (size_t i = 0; i < letters->n; i++) {
        if (group.first &&
            compare_groups(&order[i - 1], &order[i], (void *)(uintptr_t)letters) != 0) {
            add_group(letters, &group, settled, json, out);
            group = (struct group){0};
        }
        count(&group, order[i]);
    }
    add_group(letters, &group, settled, json, out);
    free(order);
    return ERR_OK;
}

/* --- one ---------------------------------------------------------------------------- */

/* Text as it is, other bytes in base64. */
static void
add_bytes(struct buf *out, struct slice bytes, bool lines)
{
    if (!bytes.data) {
        buf_add_str(out, "(none)");
    } else if (text_bad(bytes) == bytes.len) {
        letters_text_clean(out, bytes, 0, lines);
    } else {
        buf_add_str(out, "base64:");
        tap_base64(out, bytes);
    }
}

static void
add_facts(const struct letters *letters, const struct letter *letter, struct buf *out)
{
    char when[TIME_TEXT_BYTES], event[TIME_TEXT_BYTES];
    time_point_print(letter->first_failed_at_ms, when);
    time_point_print(letter->timestamp_ms, event);
    buf_addf(out,
             "place         %" PRId32 ":%" PRId64 "\nstate         %s\ncode          ",
             letter->partition, letter->offset, letter_state_name(letter));
    letters_text_clean(out, letters_text(letters, letter->code), 0, false);
    buf_add_str(out, "\norigin        ");
    add_origin(letters, letter, out);
    buf_addf(out, "\nattempt       %" PRId64 "\nfirst failed  %s\n", letter->attempt,
             when);
    buf_addf(out, "timestamp     %" PRId64 " (%s)\n", letter->timestamp_ms, event);
    if (letter->fault)
        buf_addf(out, "not to be requeued: %s\n", letter->fault);
}

void
letter_show(const struct letters *letters,
            const struct letter *letter,
            const struct message *in,
            struct slice value,
            struct buf *out)
{
    add_facts(letters, letter, out);
    buf_add_str(out, "key           ");
    add_bytes(out, in->key, false);
    buf_add_str(out, "\nheaders\n");
    for (size_t i = 0; i < in->n_headers; i++) {
        buf_add_str(out, "  ");
        letters_text_clean(out, in->headers[i].name, 0, false);
        buf_add_str(out, ": ");
        add_bytes(out, in->headers[i].value, false);
        buf_add_byte(out, '\n');
    }
    buf_addf(out, "value, %zu bytes%s\n", in->value.len, value.data ? ", decoded" : "");
    if (value.data)
        buf_add_slice(out, value);
    else
        add_bytes(out, in->value, true);
    buf_add_byte(out, '\n');
}
