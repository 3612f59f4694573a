/* SPDX-License-Identifier: Apache-2.0 */
/* The list of records that one input gives. */
#include "record.h"

enum { FIRST_EMITS = 8 };

static enum err_kind
grow(struct emits *out, struct err *err)
{
    size_t cap = out->cap ? out->cap * 2 : FIRST_EMITS;
    struct emit *items = arena_calloc(out->arena, cap, sizeof *items);
    if (!items)
        return err_no_memory(err, "the records to emit");
    if (out->n)
        memcpy(items, out->items, out->n * sizeof *items);
    out->items = items;
    out->cap = cap;
    return ERR_OK;
}

enum err_kind
emits_add(struct emits *out,
          const char *topic,
          struct slice key,
          const struct record_type *type,
          const void *value,
          int64_t timestamp_ms,
          struct err *err)
{
    if (out->n == out->cap && grow(out, err))
        return ERR_FATAL;
    out->items[out->n++] = (struct emit){
        .topic = topic,
        .key = key,
        .type = type,
        .value = value,
        .timestamp_ms = timestamp_ms,
    };
    return ERR_OK;
}

enum err_kind
emits_add_tombstone(struct emits *out,
                    const char *topic,
                    struct slice key,
                    int64_t timestamp_ms,
                    struct err *err)
{
    return emits_add(out, topic, key, NULL, NULL, timestamp_ms, err);
}
