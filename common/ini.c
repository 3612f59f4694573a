/* SPDX-License-Identifier: Apache-2.0 */
/* INI text, line by line. */
#include "ini.h"

#include "buf.h"
#include "cleanup.h"

struct reader {
    const char *file;
    int line;
    char section[INI_NAME_BYTES + 1];
    ini_key_fn *on_key;
    void *state;
};

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice
trim(struct slice text)
{
    while (text.len && is_space(text.data[0]))
        text.data++, text.len--;
    while (text.len && is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

static enum err_kind
refuse(const struct reader *reader, const char *why, struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "config_syntax", "%s:%d: %s", reader->file,
                     reader->line, why);
}

static enum err_kind
read_section(struct reader *reader, struct slice text, struct err *err)
{
    if (text.data[text.len - 1] != ']')
        return refuse(reader, "a section is written [name], with nothing after it", err);
    struct slice name = trim((struct slice){text.data + 1, text.len - 2});
    if (name.len == 0 || name.len > INI_NAME_BYTES)
        return refuse(reader, "a section name of 1 to 128 bytes is wanted", err);
    memcpy(reader->section, name.data, name.len);
    reader->section[name.len] = '\0';
    return ERR_OK;
}

static enum err_kind
read_key(struct reader *reader, struct slice text, struct err *err)
{
    const char *equals = memchr(text.data, '=', text.len);
    if (!equals)
        return refuse(reader, "neither [section] nor key = value nor # comment", err);
    size_t before = (size_t)(equals - text.data);
    struct slice name = trim((struct slice){text.data, before});
    if (name.len == 0 || name.len > INI_NAME_BYTES)
        return refuse(reader, "a key of 1 to 128 bytes is wanted before the =", err);
    struct slice value = trim((struct slice){equals + 1, text.len - before - 1});
    CLEANUP(buf_done) struct buf key = BUF_INIT;
    CLEANUP(buf_done) struct buf content = BUF_INIT;
    buf_add_slice(&key, name);
    buf_add_slice(&content, value);
    buf_text(&key);
    buf_text(&content);
    if (key.failed || content.failed)
        return err_no_memory(err, "a line of the configuration");
    return reader->on_key(reader->state, reader->line, reader->section, buf_text(&key),
                          buf_text(&content), err);
}

static enum err_kind
read_line(struct reader *reader, struct slice line, struct err *err)
{
    if (line.len > INI_LINE_BYTES)
        return refuse(reader,
                      "a line above 65536 bytes; put the value into a file and "
                      "name it with @file:PATH",
                      err);
    if (line.len && memchr(line.data, '\0', line.len))
        return refuse(reader, "a NUL byte; a text file is wanted", err);
    struct slice text = trim(line);
    if (text.len == 0 || text.data[0] == '#' || text.data[0] == ';')
        return ERR_OK;
    return text.data[0] == '[' ? read_section(reader, text, err)
                               : read_key(reader, text, err);
}

enum err_kind
ini_parse(
    const char *file, struct slice text, ini_key_fn *on_key, void *state, struct err *err)
{
    static const char bom[] = "\xEF\xBB\xBF";
    struct reader reader = {.file = file, .on_key = on_key, .state = state};
    if (text.len >= 3 && memcmp(text.data, bom, 3) == 0)
        text = (struct slice){text.data + 3, text.len - 3};
    while (text.len) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end ? (size_t)(end - text.data) : text.len;
        reader.line++;
        enum err_kind kind = read_line(&reader, (struct slice){text.data, len}, err);
        if (kind)
            return kind;
        size_t used = end ? len + 1 : len;
        text = (struct slice){text.data + used, text.len - used};
    }
    return ERR_OK;
}
