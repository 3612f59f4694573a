/* SPDX-License-Identifier: Apache-2.0 */
/* --set KEY=JSON. */
#include "set_defaults.h"

#include <stdlib.h>

#include "buf.h"
#include "cleanup.h"
#include "json_scan.h"
#include "line_form.h"
#include "text.h"

static enum err_kind
refuse_json(struct slice key, struct slice json, struct err *err)
{
    CLEANUP(buf_done) struct buf quoted = BUF_INIT;
    struct slice word = json;
    /* "forge or 'forge': the quotes that a shell took or a person mistook. */
    while (word.len > 0 && strchr("'\"", word.data[0]))
        word = (struct slice){word.data + 1, word.len - 1};
    while (word.len > 0 && strchr("'\"", word.data[word.len - 1]))
        word.len--;
    line_form_string(&quoted, word);
    return err_fatal(
        err, EXIT_USAGE, "set_invalid",
        "--set %.*s=%.*s: the value is no JSON; a text needs quotes that the "
        "shell leaves alone: --set %.*s='%s'",
        SLICE_ARG(key), SLICE_ARG(json), SLICE_ARG(key), buf_text(&quoted));
}

static enum err_kind
parse_one(const char *text, struct default_entry *entry, struct err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return err_fatal(err, EXIT_USAGE, "set_invalid",
                         "--set %s: give KEY=JSON, as in --set backend='\"forge\"'",
                         text);
    entry->key = (struct slice){text, (size_t)(equals - text)};
    entry->json = slice_of(equals + 1);
    enum json_type type;
    if (json_scan_check(entry->json, &type, NULL))
        return refuse_json(entry->key, entry->json, err);
    if (text_bad(slice_of(text)) != strlen(text))
        return err_fatal(err, EXIT_USAGE, "set_invalid", "--set %s: no UTF-8", text);
    return ERR_OK;
}

static int
by_key(const void *a, const void *b)
{
    const struct default_entry *left = a, *right = b;
    return slice_compare(left->key, right->key);
}

static struct default_entry *
find(struct default_entry *entries, size_t n, struct slice key)
{
    size_t i = 0;
    while (i < n && !slice_equal(entries[i].key, key))
        i++;
    return &entries[i];
}

enum err_kind
set_defaults_parse(const struct option_list *set,
                   struct arena *arena,
                   struct default_entry **ret_entries,
                   size_t *ret_n,
                   struct err *err)
{
    struct default_entry *entries = arena_calloc(arena, set->n, sizeof entries[0]);
    size_t n = 0;
    if (!entries)
        return err_no_memory(err, "--set");
    for (size_t i = 0; i < set->n; i++) {
        struct default_entry entry;
        if (parse_one(set->items[i], &entry, err))
            return err->kind;
        struct default_entry *place = find(entries, n, entry.key);
        n += place == &entries[n];
        *place = entry;
    }
    if (n > 1)
        qsort(entries, n, sizeof entries[0], by_key);
    *ret_entries = entries;
    *ret_n = n;
    return ERR_OK;
}
