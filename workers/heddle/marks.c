/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a journal of dead letters. */
#include "marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "digest.h"

#define FIRST_WORDS "heddle-dead 1 "

enum { LINE_BYTES = 512, WORDS_MAX = 4, FIRST_CAP = 64 };

CLEANUP_DEFINE(struct digest, digest_free);

static const char *const state_words[] = {
    [MARK_OPEN] = "open",
    [MARK_SENDING] = "sending",
    [MARK_REQUEUED] = "requeued",
    [MARK_DROPPED] = "dropped",
};

static void
from_reset(struct marks *marks)
{
    for (size_t i = 0; i < marks->n_from; i++)
        free(marks->from[i].topic);
    marks->n_from = 0;
}

void
marks_done(struct marks *marks)
{
    from_reset(marks);
    free(marks->items);
    free(marks->from);
    free(marks->by_id);
    *marks = MARKS_INIT;
}

/* --- identity ----------------------------------------------------------------------- */

/* Its length first, so that no two rows of pieces give the same bytes. */
static void
add_piece(struct digest *digest, struct slice piece)
{
    char head[32];
    int n = snprintf(head, sizeof head, "%c%zu:", piece.data ? '+' : '-', piece.len);
    digest_add(digest, (struct slice){head, (size_t)n});
    digest_add(digest, piece);
}

bool
letter_id(struct slice topic,
          const struct message *in,
          int64_t attempt,
          int64_t first_failed_at_ms,
          char ret_id[LETTER_ID_BYTES])
{
    char numbers[64];
    char hex[DIGEST_HEX];
    CLEANUP(digest_freep) struct digest *digest = digest_new();
    if (!digest)
        return false;
    snprintf(numbers, sizeof numbers, "%" PRId64 " %" PRId64, attempt,
             first_failed_at_ms);
    add_piece(digest, topic);
    add_piece(digest, in->key);
    add_piece(digest, in->value);
    add_piece(digest, slice_of(numbers));
    digest_end(digest, hex);
    memcpy(ret_id, hex, LETTER_ID_BYTES - 1);
    ret_id[LETTER_ID_BYTES - 1] = '\0';
    return true;
}

/* --- reading ------------------------------------------------------------------------ */

struct line {
    char text[LINE_BYTES]; /* cut into its words */
    char *words[WORDS_MAX];
    size_t n;
};

static bool
split(struct slice text, struct line *line)
{
    char *rest = NULL;
    if (text.len >= sizeof line->text || memchr(text.data, '\0', text.len))
        return false;
    memcpy(line->text, text.data, text.len);
    line->text[text.len] = '\0';
    line->n = 0;
    for (char *at = line->text; at; at = rest) {
        if (line->n == WORDS_MAX)
            return false;
        rest = strchr(at, ' ');
        if (rest)
            *rest++ = '\0';
        line->words[line->n++] = at;
    }
    return true;
}

static bool
read_number(const char *text, int64_t max, int64_t *ret_number)
{
    int64_t number = 0;
    for (const char *at = text; *at; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    *ret_number = number;
    return *text && number <= max;
}

/* Room for one more item of `size` bytes; false when there is no memory. */
static bool
make_room(void **items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t wanted = *cap ? *cap * 2 : FIRST_CAP;
    void *grown = reallocarray(*items, wanted, size);
    if (!grown)
        return false;
    *items = grown;
    *cap = wanted;
    return true;
}

static enum err_kind
full(struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "journal_full",
                     "the journal of dead letters has reached its ceiling of %d lines; "
                     "once heddle.dead was emptied it may be removed",
                     MARKS_MAX);
}

static enum err_kind
add_from(struct marks *marks,
         const char *topic,
         int32_t partition,
         int64_t offset,
         struct err *err)
{
    if (marks->n_from == MARKS_FROM_MAX)
        return full(err);
    char *copy = strdup(topic);
    void *from = marks->from;
    bool room = make_room(&from, marks->n_from, &marks->cap_from, sizeof *marks->from);
    marks->from = from;
    if (!copy || !room) {
        free(copy);
        return err_no_memory(err, "the journal of dead letters");
    }
    marks->from[marks->n_from++] = (struct mark_from){copy, partition, offset};
    return ERR_OK;
}

static enum err_kind
add_mark(struct marks *marks, const struct mark *mark, struct err *err)
{
    if (marks->n == MARKS_MAX)
        return full(err);
    void *items = marks->items;
    bool room = make_room(&items, marks->n, &marks->cap, sizeof *marks->items);
    marks->items = items;
    if (!room)
        return err_no_memory(err, "the journal of dead letters");
    marks->items[marks->n] = *mark;
    marks->items[marks->n].sequence = (uint32_t)marks->n;
    marks->n++;
    return ERR_OK;
}

static enum err_kind
damaged(const char *what, size_t number, struct err *err)
{
    return err_fatal(
        err, EXIT_CONFIG, "journal_damaged",
        "line %zu of the journal of dead letters %s; mend or remove it (then "
        "what was requeued or dropped is open again)",
        number, what);
}

static bool
find_state(const char *word, enum mark_state *ret_state)
{
    for (size_t i = 0; i < sizeof state_words / sizeof state_words[0]; i++)
        if (strcmp(word, state_words[i]) == 0) {
            *ret_state = (enum mark_state)i;
            return true;
        }
    return false;
}

static enum err_kind
read_line(struct marks *marks, struct slice text, size_t number, struct err *err)
{
    struct line line;
    struct mark mark = {0};
    int64_t partition = 0, offset = 0;
    if (slice_is(text, "run")) {
        from_reset(marks);
        marks->run++;
        return ERR_OK;
    }
    if (!split(text, &line) || line.n != WORDS_MAX)
        return damaged("is none of ours", number, err);
    if (strcmp(line.words[0], "from") == 0) {
        if (!read_number(line.words[2], INT32_MAX, &partition) ||
            !read_number(line.words[3], INT64_MAX, &offset))
            return damaged("has no number where one belongs", number, err);
        return add_from(marks, line.words[1], (int32_t)partition, offset, err);
    }
    if (!find_state(line.words[0], &mark.state) ||
        !read_number(line.words[1], INT32_MAX, &partition) ||
        !read_number(line.words[2], INT64_MAX, &offset) ||
        strlen(line.words[3]) != LETTER_ID_BYTES - 1)
        return damaged("is none of ours", number, err);
    mark.partition = (int32_t)partition;
    mark.offset = offset;
    mark.run = marks->run;
    memcpy(mark.id, line.words[3], LETTER_ID_BYTES);
    return add_mark(marks, &mark, err);
}

static int
compare_places(const struct mark *a, const struct mark *b)
{
    if (a->partition != b->partition)
        return a->partition < b->partition ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static int
compare_marks(const void *a, const void *b)
{
    const struct mark *left = a, *right = b;
    int order = compare_places(left, right);
    return order
               ? order
               : (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/* In order; of several marks of one place the last stands. */
static void
sort(struct marks *marks)
{
    size_t n = 0;
    if (marks->n)
        qsort(marks->items, marks->n, sizeof *marks->items, compare_marks);
    for (size_t i = 0; i < marks->n; i++) {
        bool again = n > 0 && compare_places(&marks->items[n - 1], &marks->items[i]) == 0;
        marks->items[again ? n - 1 : n] = marks->items[i];
        n += !again;
    }
    marks->n = n;
}

static bool
is_first_line(struct slice text, const char *cluster_id)
{
    size_t len = strlen(FIRST_WORDS);
    return text.len >= len && memcmp(text.data, FIRST_WORDS, len) == 0 &&
           slice_equal((struct slice){text.data + len, text.len - len},
                       slice_of(cluster_id));
}

enum err_kind
marks_read(struct marks *marks,
           struct slice text,
           const char *cluster_id,
           size_t *ret_len,
           struct err *err)
{
    size_t at = 0;
    for (size_t number = 1; at < text.len; number++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        if (!end)
            break;
        struct slice line = {text.data + at, (size_t)(end - text.data) - at};
        enum err_kind kind = ERR_OK;
        if (number > 1)
            kind = read_line(marks, line, number, err);
        else if (!is_first_line(line, cluster_id))
            kind = damaged("is not of this cluster", number, err);
        if (kind)
            return kind;
        at += line.len + 1;
    }
    sort(marks);
    *ret_len = at;
    return ERR_OK;
}

const struct mark *
marks_find(const struct marks *marks,
           int32_t partition,
           int64_t offset,
           const char id[LETTER_ID_BYTES])
{
    struct mark wanted = {.partition = partition, .offset = offset};
    size_t low = 0, high = marks->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_places(&wanted, &marks->items[middle]);
        if (order == 0)
            return strcmp(marks->items[middle].id, id) == 0 ? &marks->items[middle]
                                                            : NULL;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* --- what a run that ended early was sending ---------------------------------------- */

bool
marks_unsure(const struct marks *marks)
{
    for (size_t i = 0; i < marks->n; i++)
        if (marks->items[i].state == MARK_SENDING)
            return true;
    return false;
}

int64_t
marks_from(const struct marks *marks, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < marks->n_from; i++)
        if (marks->from[i].partition == partition &&
            strcmp(marks->from[i].topic, topic) == 0)
            return marks->from[i].offset;
    return 0;
}

/* By id; of one id, what is known to be requeued first. */
static int
compare_ids(const void *a, const void *b)
{
    const struct mark *left = *(const struct mark *const *)a;
    const struct mark *right = *(const struct mark *const *)b;
    int order = strcmp(left->id, right->id);
    return order ? order : (int)right->state - (int)left->state;
}

enum err_kind
marks_begin_claims(struct marks *marks, struct err *err)
{
    marks->by_id = calloc(marks->n + 1, sizeof(struct mark *));
    if (!marks->by_id)
        return err_no_memory(err, "the journal of dead letters");
    for (size_t i = 0; i < marks->n; i++) {
        struct mark *mark = &marks->items[i];
        if (mark->run == marks->run &&
            (mark->state == MARK_SENDING || mark->state == MARK_REQUEUED))
            marks->by_id[marks->n_by_id++] = mark;
    }
    qsort(marks->by_id, marks->n_by_id, sizeof(struct mark *), compare_ids);
    return ERR_OK;
}

void
marks_claim(struct marks *marks, const char id[LETTER_ID_BYTES])
{
    size_t low = 0, high = marks->n_by_id;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(marks->by_id[middle]->id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < marks->n_by_id && strcmp(marks->by_id[low]->id, id) == 0; low++)
        if (!marks->by_id[low]->claimed) {
            marks->by_id[low]->claimed = true;
            return;
        }
}

void
marks_settle(struct marks *marks, struct buf *lines)
{
    for (size_t i = 0; i < marks->n; i++) {
        struct mark *mark = &marks->items[i];
        if (mark->state != MARK_SENDING)
            continue;
        mark->state = mark->claimed ? MARK_REQUEUED : MARK_OPEN;
        marks_line(lines, mark->state, mark->partition, mark->offset, mark->id);
    }
}

/* --- writing ------------------------------------------------------------------------ */

void
marks_line_first(struct buf *out, const char *cluster_id)
{
    buf_addf(out, FIRST_WORDS "%s\n", cluster_id);
}

void
marks_line_run(struct buf *out)
{
    buf_add_str(out, "run\n");
}

void
marks_line_from(struct buf *out, const char *topic, int32_t partition, int64_t end)
{
    buf_addf(out, "from %s %" PRId32 " %" PRId64 "\n", topic, partition, end);
}

void
marks_line(struct buf *out,
           enum mark_state state,
           int32_t partition,
           int64_t offset,
           const char id[LETTER_ID_BYTES])
{
    buf_addf(out, "%s %" PRId32 " %" PRId64 " %s\n", state_words[state], partition,
             offset, id);
}
