/* SPDX-License-Identifier: Apache-2.0 */
/* A reported value on its way into the row or x. */
#include "carried.h"

#include "cleanup.h"
#include "text.h"

static enum err_kind
note_special(void *state, struct slice path, struct err *err)
{
    return notes_add(state, "nonfinite", path, err);
}

static void
path_write(struct place place, struct buf *out)
{
    if (place.entry >= 0)
        buf_addf(out, "tuners_run[%lld]", (long long)place.entry);
    if (place.entry >= 0 && place.name.data)
        buf_add_byte(out, '.');
    buf_add_slice(out, place.name);
}

static enum err_kind
note_specials(struct json_value value,
              struct place place,
              struct notes *notes,
              struct err *err)
{
    if (!value.doc || value.doc->n_special == 0)
        return ERR_OK;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    path_write(place, &path);
    if (path.failed)
        return audit_full(err);
    return json_each_special(value, buf_slice(&path), note_special, notes, err);
}

static enum err_kind
note_too_deep(struct place place, struct notes *notes, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    path_write(place, &path);
    return notes_add(notes, "too_deep", buf_slice(&path), err);
}

static bool
is_null(struct json_value value)
{
    enum json_kind kind = json_kind(value);
    return kind == JSON_ABSENT || kind == JSON_NULL;
}

enum err_kind
carry_field_noted(struct json_value value,
                  struct place place,
                  struct notes *notes,
                  struct carried *ret_carried,
                  struct err *err)
{
    if (note_specials(value, place, notes, err))
        return err->kind;
    if (json_depth(value) <= ROW_FIELD_MAX_DEPTH)
        return ERR_OK;
    *ret_carried = (struct carried){.form = CARRIED_OMITTED, .size = json_size(value)};
    return note_too_deep(place, notes, err);
}

enum err_kind
carry_whole(struct json_value value,
            struct place place,
            struct notes *notes,
            struct carried *ret_carried,
            struct err *err)
{
    *ret_carried = (struct carried){.form = CARRIED_NONE};
    if (is_null(value))
        return ERR_OK;
    ret_carried->form = CARRIED_VALUE;
    ret_carried->value = value;
    return note_specials(value, place, notes, err);
}

enum err_kind
carry_capped(struct json_value value,
             struct place place,
             struct notes *notes,
             struct carried *ret_carried,
             struct err *err)
{
    if (note_specials(value, place, notes, err))
        return err->kind;
    size_t size = json_size(value);
    if (size > CARRIED_MAX_BYTES)
        *ret_carried = (struct carried){.form = CARRIED_OMITTED, .size = size};
    else
        *ret_carried = (struct carried){.form = CARRIED_VALUE, .value = value};
    return ERR_OK;
}

/* The first ERROR_CHARS of `text`, then three dots. */
static enum err_kind
cut(struct slice text, struct notes *notes, struct carried *ret_carried, struct err *err)
{
    static const char dots[] = "...";
    struct slice head = text_cut(text, ERROR_CHARS);
    char *copy = arena_alloc(notes->arena, head.len + sizeof dots);
    if (!copy)
        return audit_full(err);
    memcpy(copy, head.data, head.len);
    memcpy(copy + head.len, dots, sizeof dots);
    *ret_carried = (struct carried){
        .form = CARRIED_TEXT,
        .text = {copy, head.len + sizeof dots - 1},
    };
    return ERR_OK;
}

/* Code points, counted only where there can be too many; 0: within the limit. */
static size_t
chars_if_long(struct slice text)
{
    if (text.len <= ERROR_CHARS)
        return 0;
    size_t chars = text_count(text);
    return chars > ERROR_CHARS ? chars : 0;
}

static enum err_kind
carry_error_json(struct json_value value,
                 size_t entry,
                 struct notes *notes,
                 struct carried *ret_carried,
                 struct err *err)
{
    size_t size = json_size(value);
    if (size <= ERROR_JSON_BYTES)
        return carry_field(value, ENTRY_PLACE((int64_t)entry, "error"), notes,
                           ret_carried, err);
    if (note_specials(value, ENTRY_PLACE((int64_t)entry, "error"), notes, err) ||
        notes_add_numbers(notes, "truncated_error_json", entry, size, err))
        return err->kind;
    CLEANUP(buf_done) struct buf head = BUF_INIT;
    json_write_begin(&head, value, ERROR_CHARS);
    if (head.failed)
        return audit_full(err);
    return cut(buf_slice(&head), notes, ret_carried, err);
}

enum err_kind
carry_error(struct json_value value,
            size_t entry,
            struct notes *notes,
            struct carried *ret_carried,
            struct err *err)
{
    struct slice text = json_string(value);
    if (is_null(value) || (text.data && !chars_if_long(text))) {
        enum carried_form form = text.data ? CARRIED_VALUE : CARRIED_NONE;
        *ret_carried = (struct carried){.form = form, .value = value};
        return ERR_OK;
    }
    if (!text.data)
        return carry_error_json(value, entry, notes, ret_carried, err);
    if (notes_add_numbers(notes, "truncated_error", entry, chars_if_long(text), err))
        return err->kind;
    return cut(text, notes, ret_carried, err);
}

enum err_kind
carry_run_error(struct json_value value,
                struct notes *notes,
                struct carried *ret_carried,
                struct err *err)
{
    *ret_carried = (struct carried){.form = CARRIED_NONE};
    struct slice text = json_string(value);
    if (!json_truthy(value))
        return ERR_OK;
    if (!text.data)
        return carry_capped(value, PLACE("error"), notes, ret_carried, err);
    size_t chars = chars_if_long(text);
    *ret_carried = (struct carried){.form = CARRIED_VALUE, .value = value};
    if (!chars)
        return ERR_OK;
    if (notes_add_number(notes, "truncated_run_error", chars, err))
        return err->kind;
    return cut(text, notes, ret_carried, err);
}

void
carried_write(const struct carried *carried, struct buf *out)
{
    switch (carried->form) {
    case CARRIED_VALUE:
        json_write(out, carried->value);
        break;
    case CARRIED_OMITTED:
        buf_addf(out, "{\"$omitted_bytes\": %zu}", carried->size);
        break;
    case CARRIED_TEXT:
        json_write_string(out, carried->text);
        break;
    case CARRIED_TRUE:
        buf_add_str(out, "true");
        break;
    case CARRIED_FALSE:
        buf_add_str(out, "false");
        break;
    case CARRIED_NONE:
    default:
        buf_add_str(out, "null");
    }
}

struct slice
carried_string(const struct carried *carried)
{
    if (carried->form == CARRIED_TEXT)
        return carried->text;
    if (carried->form != CARRIED_VALUE)
        return (struct slice){NULL, 0};
    if (json_is_special(carried->value))
        return json_number(carried->value);
    return json_string(carried->value);
}
