/* SPDX-License-Identifier: Apache-2.0 */
/* External tables as JSON. */
#include "external.h"

#include "json_out.h"

static void
write_extra(struct buf *out, const struct external_extra *extra, size_t n)
{
    buf_add_byte(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_str(out, ", ");
        json_write_string(out, extra[i].name);
        buf_add_str(out, ": ");
        json_out_value(out, extra[i].value);
    }
    buf_add_byte(out, '}');
}

static void
write_value(struct buf *out,
            enum external_field field,
            const struct external_value *value)
{
    if (value->state == EXTERNAL_NULL)
        buf_add_str(out, "null");
    else if (external_field_type(field) == EXTERNAL_TYPE_STRING)
        json_write_string(out, value->text);
    else if (external_field_type(field) == EXTERNAL_TYPE_BOOLEAN)
        buf_add_str(out, value->flag ? "true" : "false");
    else if (json_kind(value->value) == JSON_STRING)
        json_out_number(out, value->number);
    else
        json_out_value(out, value->value);
}

static void
write_row(struct buf *out, const struct external_row *row)
{
    bool first = true;
    buf_add_str(out, "{\"row\": {");
    for (int i = 0; i < EXTERNAL_FIELDS; i++) {
        if (row->fields[i].state == EXTERNAL_ABSENT)
            continue;
        buf_addf(out, "%s\"%s\": ", first ? "" : ", ",
                 external_field_name((enum external_field)i));
        write_value(out, (enum external_field)i, &row->fields[i]);
        first = false;
    }
    buf_add_str(out, "}, \"extra\": ");
    write_extra(out, row->extra, row->n_extra);
    buf_add_byte(out, '}');
}

void
candidates_write(const struct external_table *table, struct buf *out)
{
    buf_add_str(out, "{\"rows\": [");
    for (size_t i = 0; i < table->n_rows; i++) {
        buf_add_str(out, i ? ", " : "");
        write_row(out, &table->rows[i]);
    }
    buf_add_str(out, "], \"notes\": [");
    for (size_t i = 0; i < table->n_notes; i++) {
        buf_add_str(out, i ? ", {\"kernel_id\": " : "{\"kernel_id\": ");
        json_write_string(out, table->notes[i].kernel_id);
        buf_add_str(out, ", \"code\": ");
        json_write_string(out, table->notes[i].code);
        buf_add_byte(out, '}');
    }
    buf_add_str(out, "], \"top_extra\": ");
    write_extra(out, table->top_extra, table->n_top_extra);
    buf_add_byte(out, '}');
}
