/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about dead letters, and plans with them. */
#include "letters.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadletter.h"
#include "digest.h"
#include "kafka.h"
#include "topics.h"

enum { FIRST_CAP = 64 };

void
letters_done(struct letters *letters)
{
    names_done(&letters->texts);
    free(letters->items);
    *letters = LETTERS_INIT;
}

struct slice
letters_text(const struct letters *letters, uint32_t id)
{
    return names_get(&letters->texts, id);
}

/* --- addresses ---------------------------------------------------------------------- */

/* Digits up to `end`, at most `max`. */
static bool
read_number(const char *at, const char *end, int64_t max, int64_t *ret_number)
{
    int64_t number = 0;
    if (at == end)
        return false;
    for (; at < end; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    *ret_number = number;
    return number <= max;
}

enum err_kind
letter_address_read(const char *text, struct letter_address *ret_address, struct err *err)
{
    int64_t partition = 0, offset = 0;
    const char *colon = strchr(text, ':');
    if (!colon || !read_number(text, colon, INT32_MAX, &partition) ||
        !read_number(colon + 1, colon + strlen(colon), INT64_MAX, &offset))
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "%.100s: a place in heddle.dead is wanted, PARTITION:OFFSET as "
                         "`heddle dead ls` shows it",
                         text);
    *ret_address = (struct letter_address){(int32_t)partition, offset, false};
    return ERR_OK;
}

static int
compare(int32_t a_partition, int64_t a_offset, int32_t b_partition, int64_t b_offset)
{
    if (a_partition != b_partition)
        return a_partition < b_partition ? -1 : 1;
    return (a_offset > b_offset) - (a_offset < b_offset);
}

static int
compare_addresses(const void *a, const void *b)
{
    const struct letter_address *left = a, *right = b;
    return compare(left->partition, left->offset, right->partition, right->offset);
}

size_t
letter_addresses_sort(struct letter_address *addresses, size_t n)
{
    size_t left = 0;
    if (n)
        qsort(addresses, n, sizeof *addresses, compare_addresses);
    for (size_t i = 0; i < n; i++)
        if (left == 0 || compare_addresses(&addresses[left - 1], &addresses[i]) != 0)
            addresses[left++] = addresses[i];
    return left;
}

static bool
is_addressed(const struct letter_filter *filter, const struct message *in)
{
    struct letter_address wanted = {in->partition, in->offset, false};
    if (filter->n_addresses == 0)
        return true;
    struct letter_address *address =
        bsearch(&wanted, filter->addresses, filter->n_addresses, sizeof wanted,
                compare_addresses);
    if (address)
        address->found = true;
    return address != NULL;
}

/* --- one record --------------------------------------------------------------------- */

int64_t
letter_time_ms(const struct letter *letter)
{
    return letter->first_failed_at_ms >= 0 ? letter->first_failed_at_ms
                                           : letter->timestamp_ms;
}

static bool
is_like(const struct option_list *patterns, struct slice text)
{
    for (size_t i = 0; i < patterns->n; i++)
        if (fnmatch(patterns->items[i], text.data, 0) == 0)
            return true;
    return patterns->n == 0;
}

static bool
fits(const struct letters *letters,
     const struct letter *letter,
     const struct letter_filter *filter)
{
    int64_t time_ms = letter_time_ms(letter);
    return time_ms >= filter->since_ms && time_ms <= filter->until_ms &&
           is_like(&filter->codes, letters_text(letters, letter->code)) &&
           is_like(&filter->origin_topics, letters_text(letters, letter->origin_topic)) &&
           is_like(&filter->workers, letters_text(letters, letter->worker));
}

/* Whether the value is still the one that failed. */
static bool
is_untouched(const struct dead_letter *facts, struct slice value)
{
    char hex[DIGEST_HEX];
    if (!facts->src.data)
        return true;
    if (!value.data)
        return false;
    digest_hex(value, hex);
    return slice_is(facts->src, hex);
}

static const char *
find_fault(bool ours, const struct dead_letter *facts, const struct message *in)
{
    if (!ours)
        return LETTER_CODE_UNKNOWN;
    if (slice_is(facts->origin_topic, TOPIC_DEAD))
        return "origin_is_heddle_dead";
    if (in->n_headers >= TOPIC_READER_HEADERS)
        return "too_many_headers";
    return is_untouched(facts, in->value) ? NULL : "value_changed";
}

static enum letter_state
find_state(const struct letter *letter, const struct marks *marks)
{
    const struct mark *mark =
        marks_find(marks, letter->partition, letter->offset, letter->id);
    if (mark && mark->state == MARK_REQUEUED)
        return LETTER_REQUEUED;
    if (mark && mark->state == MARK_DROPPED)
        return LETTER_DROPPED;
    if (mark && mark->state == MARK_SENDING)
        return LETTER_UNSURE;
    return letter->worn ? LETTER_QUARANTINED : LETTER_OPEN;
}

static enum err_kind
name_texts(struct letters *letters,
           const struct dead_letter *facts,
           const struct message *in,
           bool ours,
           struct letter *letter,
           struct err *err)
{
    struct slice code = ours ? facts->code : SLICE(LETTER_CODE_UNKNOWN);
    struct names *texts = &letters->texts;
    letter->has_key = in->key.data != NULL;
    if (names_put(texts, code, &letter->code, err) ||
        names_put(texts, facts->stage, &letter->stage, err) ||
        names_put(texts, facts->origin_topic, &letter->origin_topic, err) ||
        names_put(texts, facts->worker, &letter->worker, err))
        return err->kind;
    return ERR_OK;
}

static enum err_kind
append(struct letters *letters, const struct letter *letter, struct err *err)
{
    if (letters->n == LETTERS_MAX)
        return err_fatal(err, EXIT_USAGE, "too_many_letters",
                         "more than %d dead letters fit; ask for fewer with --code, "
                         "--origin-topic, --since or --until",
                         LETTERS_MAX);
    if (letters->n == letters->cap) {
        size_t cap = letters->cap ? letters->cap * 2 : FIRST_CAP;
        struct letter *items = reallocarray(letters->items, cap, sizeof *items);
        if (!items)
            return err_no_memory(err, "the list of dead letters");
        letters->items = items;
        letters->cap = cap;
    }
    letters->items[letters->n++] = *letter;
    return ERR_OK;
}

enum err_kind
letters_add(struct letters *letters,
            const struct message *in,
            const struct letter_filter *filter,
            const struct marks *marks,
            int64_t max_attempts,
            struct err *err)
{
    struct dead_letter facts;
    if (!is_addressed(filter, in))
        return ERR_OK;
    bool ours = dead_letter_read(in, &facts);
    struct letter letter = {
        .partition = in->partition,
        .offset = in->offset,
        .timestamp_ms = in->timestamp_ms,
        .first_failed_at_ms = facts.first_failed_at_ms,
        .origin_partition = facts.origin_partition,
        .origin_offset = facts.origin_offset,
        .attempt = facts.attempt,
        .size = in->value.len,
        .worn = facts.attempt >= max_attempts,
    };
    if (name_texts(letters, &facts, in, ours, &letter, err))
        return err->kind;
    if (!fits(letters, &letter, filter))
        return ERR_OK;
    int64_t next = letter.attempt < INT64_MAX ? letter.attempt + 1 : letter.attempt;
    if (!letter_id(facts.origin_topic, in, next, facts.first_failed_at_ms, letter.id))
        return err_no_memory(err, "a dead letter");
    if (names_put(&letters->texts, in->key, &letter.key, err))
        return err->kind;
    letter.fault = find_fault(ours, &facts, in);
    letter.state = find_state(&letter, marks);
    return append(letters, &letter, err);
}

/* --- all of them -------------------------------------------------------------------- */

static int
compare_letters(const void *a, const void *b)
{
    const struct letter *left = a, *right = b;
    return compare(left->partition, left->offset, right->partition, right->offset);
}

void
letters_sort(struct letters *letters)
{
    if (letters->n)
        qsort(letters->items, letters->n, sizeof *letters->items, compare_letters);
}

struct letter *
letters_find(const struct letters *letters, int32_t partition, int64_t offset)
{
    struct letter wanted = {.partition = partition, .offset = offset};
    return letters->n ? bsearch(&wanted, letters->items, letters->n, sizeof wanted,
                                compare_letters)
                      : NULL;
}

const char *
letter_state_name(const struct letter *letter)
{
    switch (letter->state) {
    case LETTER_OPEN:
        return "open";
    case LETTER_QUARANTINED:
        return "quarantined";
    case LETTER_UNSURE:
        return "unsure";
    case LETTER_REQUEUED:
        return "requeued";
    case LETTER_DROPPED:
        return "dropped";
    }
    return "open";
}

/* --- plans -------------------------------------------------------------------------- */

/* Why it can't be done; NULL: it can. */
static const char *
find_obstacle(const struct letters *letters,
              const struct letter *letter,
              const struct letter_plan *plan,
              topic_exists_fn *exists,
              void *state)
{
    if (plan->drop)
        return NULL;
    if (letter->fault)
        return letter->fault;
    if (letter->worn)
        return "quarantined";
    if (!exists(state, letters_text(letters, letter->origin_topic)))
        return "origin_topic_missing";
    return NULL;
}

/* Whether it was settled by an earlier action that still stands. */
static bool
is_settled(const struct letter *letter, const struct letter_plan *plan)
{
    return letter->state == LETTER_REQUEUED ||
           (letter->state == LETTER_DROPPED && (plan->drop || !plan->again));
}

void
letters_plan(struct letters *letters,
             const struct letter_plan *plan,
             topic_exists_fn *exists,
             void *state)
{
    int64_t n_taken = 0;
    for (size_t i = 0; i < letters->n; i++) {
        struct letter *letter = &letters->items[i];
        letter->action = LETTER_PASS;
        letter->reason = NULL;
        if (is_settled(letter, plan)) {
            if (plan->by_place) {
                letter->action = LETTER_LEAVE;
                letter->reason = letter->state == LETTER_REQUEUED ? "requeued_before"
                                                                  : "dropped_before";
            }
            continue;
        }
        if (plan->limit && n_taken == plan->limit)
            continue;
        letter->reason = find_obstacle(letters, letter, plan, exists, state);
        letter->action = letter->reason ? LETTER_LEAVE : LETTER_TAKE;
        n_taken += letter->action == LETTER_TAKE;
    }
}

size_t
letters_count(const struct letters *letters, enum letter_action action)
{
    size_t n = 0;
    for (size_t i = 0; i < letters->n; i++)
        n += letters->items[i].action == action;
    return n;
}
