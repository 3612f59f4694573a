/* SPDX-License-Identifier: Apache-2.0 */
/* Coded warnings and their values. */
#include "note.h"

#include "json.h"
#include "json_out.h"

const char *
severity_name(enum severity severity)
{
    static const char *const names[] = {"info", "warning", "error", "blocking"};
    return names[severity];
}

void
note_begin(struct note_list *notes,
           const char *code,
           enum severity severity,
           struct slice message)
{
    struct note_field *fields = arena_alloc(notes->arena, NOTE_FIELDS * sizeof fields[0]);
    if (!fields || !message.data || notes->n == NOTES) {
        notes->failed = true;
        return;
    }
    notes->items[notes->n++] = (struct note){code, severity, message, fields, 0};
}

static void
add(struct note_list *notes, struct note_field field)
{
    if (notes->failed)
        return;
    struct note *note = &notes->items[notes->n - 1];
    if (note->n == NOTE_FIELDS)
        notes->failed = true;
    else
        note->fields[note->n++] = field;
}

void
note_text(struct note_list *notes, const char *name, struct slice text)
{
    add(notes, (struct note_field){.name = name,
                                   .kind = text.data ? NOTE_TEXT : NOTE_NULL,
                                   .text = text});
}

void
note_boolean(struct note_list *notes, const char *name, bool boolean)
{
    add(notes,
        (struct note_field){.name = name, .kind = NOTE_BOOLEAN, .boolean = boolean});
}

void
note_number(struct note_list *notes, const char *name, double number)
{
    add(notes, (struct note_field){.name = name, .kind = NOTE_NUMBER, .number = number});
}

void
note_amount(struct note_list *notes, const char *name, struct amount amount)
{
    add(notes, (struct note_field){.name = name,
                                   .kind = amount.known ? NOTE_NUMBER : NOTE_NULL,
                                   .number = amount.value});
}

void
note_rounded(struct note_list *notes, const char *name, struct amount amount, int digits)
{
    if (amount.known)
        amount.value = amount_round(amount.value, digits);
    note_amount(notes, name, amount);
}

void
note_names(struct note_list *notes, const char *name, const struct slice *names, size_t n)
{
    add(notes,
        (struct note_field){.name = name, .kind = NOTE_LIST, .names = names, .n = n});
}

void
note_ratios(struct note_list *notes,
            const char *name,
            const struct slice *names,
            const double *ratios,
            size_t n)
{
    add(notes, (struct note_field){.name = name,
                                   .kind = NOTE_RATIOS,
                                   .names = names,
                                   .numbers = ratios,
                                   .n = n});
}

static void
write_ratios(struct buf *out, const struct note_field *field)
{
    buf_add_byte(out, '{');
    for (size_t i = 0; i < field->n; i++) {
        if (i)
            buf_add_str(out, ", ");
        json_write_string(out, field->names[i]);
        buf_add_str(out, ": ");
        json_out_number(out, field->numbers[i]);
    }
    buf_add_byte(out, '}');
}

void
note_write_field(struct buf *out, const char *name, const struct note_field *field)
{
    switch (field->kind) {
    case NOTE_BOOLEAN:
        json_out_bool(out, name, field->boolean);
        break;
    case NOTE_NUMBER:
        json_out_amount(out, name, AMOUNT(field->number));
        break;
    case NOTE_LIST:
        json_out_texts(out, name, field->names, field->n);
        break;
    case NOTE_RATIOS:
        json_out_name(out, name);
        write_ratios(out, field);
        break;
    case NOTE_TEXT:
    case NOTE_NULL:
    default:
        json_out_text(out, name, field->text);
        break;
    }
}

void
note_write_list(struct buf *out, const struct note_list *notes, bool with_message)
{
    buf_add_byte(out, '[');
    for (size_t i = 0; i < notes->n; i++) {
        const struct note *note = &notes->items[i];
        buf_add_str(out, i ? ", {" : "{");
        json_out_text(out, "code", slice_of(note->code));
        json_out_text(out, "severity", slice_of(severity_name(note->severity)));
        for (size_t k = 0; k < note->n; k++)
            note_write_field(out, note->fields[k].name, &note->fields[k]);
        if (with_message)
            json_out_text(out, "message", note->message);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}
