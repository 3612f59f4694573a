/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a split are called after its trace. */
#include "base_name.h"

#include "cleanup.h"
#include "text.h"

/* Takes every `word` out of the text. */
static void
remove_all(struct buf *text, const char *word)
{
    size_t len = strlen(word);
    size_t kept = 0;
    if (!text->data)
        return;
    for (size_t i = 0; i < text->len;) {
        if (text->len - i >= len && memcmp(text->data + i, word, len) == 0) {
            i += len;
            continue;
        }
        text->data[kept++] = text->data[i++];
    }
    text->len = kept;
}

static struct slice
last_segment(struct slice name)
{
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    if (!slash)
        return name;
    size_t from = (size_t)(slash - name.data) + 1;
    return (struct slice){name.data + from, name.len - from};
}

/* The text with '_' for NUL and for each byte that is no UTF-8. */
static void
add_safe(struct buf *out, struct slice text)
{
    while (text.len > 0) {
        size_t good = text_bad(text);
        buf_add(out, text.data, good);
        if (good == text.len)
            break;
        buf_add_byte(out, '_');
        text = (struct slice){text.data + good + 1, text.len - good - 1};
    }
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i] == '\0' || out->data[i] == '/')
            out->data[i] = '_';
}

void
base_name_add(struct buf *out, struct slice name)
{
    static const char *const words[] = {".pt.trace", ".json.gz", ".json.zst", ".json"};
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    add_safe(&text, last_segment(name));
    text.len = text_cut_bytes(buf_slice(&text), BASE_NAME_MAX_BYTES).len;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        remove_all(&text, words[i]);
    if (text.failed)
        out->failed = true;
    if (text.len == 0)
        buf_add_str(out, "trace");
    buf_add_slice(out, buf_slice(&text));
}
