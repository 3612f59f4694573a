/* SPDX-License-Identifier: Apache-2.0 */
/* One audit row, a member a line. */
#include "example.h"

#include "json_scan.h"

#include <inttypes.h>

static enum err_kind
on_item(void *state, size_t i, enum json_type type, struct slice value, struct err *err)
{
    (void)type;
    (void)err;
    buf_addf(state, "%s\n        %.*s", i ? "," : "", SLICE_ARG(value));
    return ERR_OK;
}

static enum err_kind
on_member(void *state,
          struct slice key,
          enum json_type type,
          struct slice value,
          struct err *err)
{
    struct buf *out = state;
    buf_addf(out, "    %.*s: ", SLICE_ARG(key));
    if (type != JSON_TYPE_ARRAY || value.len == 2) {
        buf_addf(out, "%.*s\n", SLICE_ARG(value));
        return ERR_OK;
    }
    buf_add_byte(out, '[');
    enum err_kind kind = json_scan_items(value, on_item, out, err);
    buf_add_str(out, "]\n");
    return kind;
}

static void
add_document(struct buf *out, const char *name, struct slice document)
{
    if (!document.data)
        return;
    buf_addf(out, "  %s\n", name);
    /* What is no object stands as it is. */
    if (json_scan_members(document, on_member, out, NULL))
        buf_addf(out, "    %.*s\n", SLICE_ARG(document));
}

void
example_write(struct example *example,
              const struct message *in,
              const struct audit_row *record)
{
    buf_addf(&example->text, "  %.*s\n  %s, partition %" PRId32 ", offset %" PRId64 "\n",
             SLICE_ARG(in->key), in->topic, in->partition, in->offset);
    add_document(&example->text, "row", record->row);
    add_document(&example->text, "x", record->x);
}

void
example_print(const struct example *example, struct buf *out)
{
    buf_addf(out, "\n%s\n", example->outcome);
    if (example->text.len)
        buf_add_slice(out, buf_slice(&example->text));
    else
        buf_add_str(out, "  no row has an entry of this outcome\n");
}
