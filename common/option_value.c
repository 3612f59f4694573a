/* SPDX-License-Identifier: Apache-2.0 */
/* Values of settings: numbers with units, choices, switches, lists. */
#include "option_value.h"

#include "cleanup.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
    const char *name;
    int64_t factor;
};

/* Largest first, so that printing takes the largest that divides. */
static const struct unit durations[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {NULL, 0},
};
static const struct unit sizes[] = {
    {"TiB", (int64_t)1 << 40},
    {"GiB", (int64_t)1 << 30},
    {"MiB", (int64_t)1 << 20},
    {"KiB", (int64_t)1 << 10},
    {"B", 1},
    {NULL, 0},
};

static const struct unit *
units_of(enum option_type type)
{
    return type == OPTION_DURATION ? durations : type == OPTION_SIZE ? sizes : NULL;
}

static bool
parse_digits(struct slice *text, int64_t *ret_number)
{
    bool minus = text->len > 1 && text->data[0] == '-';
    size_t i = minus ? 1 : 0;
    int64_t number = 0;
    for (; i < text->len && text->data[i] >= '0' && text->data[i] <= '9'; i++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text->data[i] - '0', &number))
            return false;
    if (i == (minus ? 1u : 0u))
        return false;
    text->data += i;
    text->len -= i;
    *ret_number = minus ? -number : number;
    return true;
}

static bool
apply_unit(enum option_type type, struct slice unit, int64_t *number)
{
    const struct unit *units = units_of(type);
    if (unit.len == 0)
        return type != OPTION_DURATION || !__builtin_mul_overflow(*number, 1000, number);
    for (; units && units->name; units++)
        if (slice_is(unit, units->name))
            return !__builtin_mul_overflow(*number, units->factor, number);
    return false;
}

static void
print_number(enum option_type type, int64_t number, struct buf *out)
{
    const struct unit *unit = units_of(type);
    while (unit && unit->name && (number % unit->factor || unit->factor > number) &&
           unit[1].name)
        unit++;
    if (!unit || (type == OPTION_SIZE && unit->factor == 1)) {
        buf_addf(out, "%" PRId64, number);
        return;
    }
    if (number == 0) /* 0ms reads as a typing error */
        unit = &durations[3];
    buf_addf(out, "%" PRId64 "%s", number / unit->factor, unit->name);
}

static const char *
wanted_number(enum option_type type)
{
    return type == OPTION_DURATION ? "a duration like 250ms, 10s, 5m, 24h or 30d"
           : type == OPTION_SIZE   ? "a size like 512KiB, 64MiB, 1GiB or 1000000"
                                   : "a whole number";
}

static enum err_kind
refuse_number(const struct option *row, struct err *err)
{
    CLEANUP(buf_done) struct buf range = BUF_INIT;
    buf_add_str(&range, "at least ");
    print_number(row->type, row->min, &range);
    if (row->max > row->min) {
        buf_add_str(&range, ", at most ");
        print_number(row->type, row->max, &range);
    }
    return err_set(err, ERR_RECORD, "bad_value", "%s is wanted, %s",
                   wanted_number(row->type), buf_text(&range));
}

static enum err_kind
set_number(const struct option *row, int64_t *value, struct slice text, struct err *err)
{
    int64_t number = 0;
    if (!parse_digits(&text, &number) || !apply_unit(row->type, text, &number) ||
        number < row->min || (row->max > row->min && number > row->max))
        return refuse_number(row, err);
    *value = number;
    return ERR_OK;
}

static enum err_kind
set_bool(bool *value, struct slice text, struct err *err)
{
    static const char *const words[] = {"no",  "yes", "false", "true",
                                        "off", "on",  "0",     "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_is(text, words[i])) {
            *value = i % 2 == 1;
            return ERR_OK;
        }
    return err_set(err, ERR_RECORD, "bad_value", "yes or no is wanted");
}

/* Cuts the next choice off `rest`. */
static struct slice
next_piece(struct slice *rest, char separator)
{
    const char *end = rest->len ? memchr(rest->data, separator, rest->len) : NULL;
    struct slice piece = {rest->data, end ? (size_t)(end - rest->data) : rest->len};
    size_t used = end ? piece.len + 1 : piece.len;
    rest->data += used;
    rest->len -= used;
    return piece;
}

static enum err_kind
set_choice(const struct option *row, int64_t *value, struct slice text, struct err *err)
{
    struct slice rest = slice_of(row->choices);
    for (int64_t i = 0; rest.len; i++)
        if (slice_equal(next_piece(&rest, '|'), text)) {
            *value = i;
            return ERR_OK;
        }
    return err_set(err, ERR_RECORD, "bad_value", "one of %s is wanted", row->choices);
}

static enum err_kind
set_text(const char **value, struct slice text, struct arena *arena, struct err *err)
{
    if (text.len == 0) {
        *value = NULL;
        return ERR_OK;
    }
    struct slice copy = arena_copy(arena, text);
    if (!copy.data)
        return err_no_memory(err, "a setting");
    *value = copy.data;
    return ERR_OK;
}

enum err_kind
option_value_append(struct option_list *list,
                    struct slice text,
                    struct arena *arena,
                    struct err *err)
{
    if (list->n >= OPTIONS_ITEMS)
        return err_set(err, ERR_RECORD, "bad_value", "at most %d items are wanted",
                       (int)OPTIONS_ITEMS);
    struct slice copy = arena_copy(arena, text);
    /* Powers of two mark where the array is full. */
    if ((list->n & (list->n - 1)) == 0) {
        size_t room = list->n ? 2 * list->n : 1;
        const char **items = arena_calloc(arena, room, sizeof *items);
        if (!items)
            return err_no_memory(err, "a list of settings");
        if (list->n)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
    }
    if (!copy.data)
        return err_no_memory(err, "a setting");
    list->items[list->n++] = copy.data;
    return ERR_OK;
}

static struct slice
trim(struct slice text)
{
    while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
        text.data++, text.len--;
    while (text.len &&
           (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

static enum err_kind
set_list(struct option_list *value,
         struct slice text,
         struct arena *arena,
         struct err *err)
{
    struct option_list list = {0};
    while (text.len) {
        struct slice item = trim(next_piece(&text, ','));
        if (item.len == 0)
            continue;
        enum err_kind kind = option_value_append(&list, item, arena, err);
        if (kind)
            return kind;
    }
    *value = list;
    return ERR_OK;
}

enum err_kind
option_value_set(const struct option *row,
                 void *value,
                 struct slice text,
                 struct arena *arena,
                 struct err *err)
{
    if (text.len && memchr(text.data, '\0', text.len))
        return err_set(err, ERR_RECORD, "bad_value", "a text without NUL is wanted");
    switch (row->type) {
    case OPTION_FLAG:
    case OPTION_BOOL:
        return set_bool(value, text, err);
    case OPTION_INT:
    case OPTION_DURATION:
    case OPTION_SIZE:
        return set_number(row, value, text, err);
    case OPTION_CHOICE:
        return set_choice(row, value, text, err);
    case OPTION_TEXT:
        return set_text(value, text, arena, err);
    case OPTION_LIST:
        return set_list(value, text, arena, err);
    }
    return err_fatal(err, EXIT_INTERNAL, "options_table", "a setting of no known type");
}

static struct slice
choice_name(const struct option *row, int64_t position)
{
    struct slice rest = slice_of(row->choices);
    struct slice name = next_piece(&rest, '|');
    while (position-- > 0)
        name = next_piece(&rest, '|');
    return name;
}

void
option_value_print(const struct option *row, const void *value, struct buf *out)
{
    const struct option_list *list = value;
    switch (row->type) {
    case OPTION_FLAG:
    case OPTION_BOOL:
        buf_add_str(out, *(const bool *)value ? "yes" : "no");
        return;
    case OPTION_INT:
    case OPTION_DURATION:
    case OPTION_SIZE:
        print_number(row->type, *(const int64_t *)value, out);
        return;
    case OPTION_CHOICE:
        buf_add_slice(out, choice_name(row, *(const int64_t *)value));
        return;
    case OPTION_TEXT:
        buf_add_slice(out, slice_of(*(const char *const *)value));
        return;
    case OPTION_LIST:
        for (size_t i = 0; i < list->n; i++)
            buf_addf(out, "%s%s", i ? ", " : "", list->items[i]);
        return;
    }
}

static void
add_escaped(struct buf *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '\n') {
            buf_add_str(out, "\\n");
            continue;
        }
        if (*text == '\\' || *text == ',')
            buf_add_byte(out, '\\');
        buf_add_byte(out, *text);
    }
}

void
option_value_canonical(const struct option *row, const void *value, struct buf *out)
{
    const struct option_list *list = value;
    switch (row->type) {
    case OPTION_FLAG:
    case OPTION_BOOL:
        buf_add_str(out, *(const bool *)value ? "true" : "false");
        return;
    case OPTION_INT:
    case OPTION_DURATION:
    case OPTION_SIZE:
        buf_addf(out, "%" PRId64, *(const int64_t *)value);
        return;
    case OPTION_CHOICE:
        buf_add_slice(out, choice_name(row, *(const int64_t *)value));
        return;
    case OPTION_TEXT:
        add_escaped(out, *(const char *const *)value);
        return;
    case OPTION_LIST:
        for (size_t i = 0; i < list->n; i++) {
            buf_add_str(out, i ? "," : "");
            add_escaped(out, list->items[i]);
        }
        return;
    }
}
