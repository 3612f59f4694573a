/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas on disk. */
#include "schema_files.h"

#include "buf.h"
#include "cleanup.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct schema *
schema_file_read(const char *path, struct err *err)
{
    CLEANUP(buf_done) struct buf text;
    buf_init(&text, CONFIG_FILE_BYTES);
    FILE *file = fopen(path, "re");
    char chunk[8192];
    size_t n = 0;
    while (file && (n = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(&text, chunk, n);
    int problem = errno;
    bool whole = file && !ferror(file) && !text.failed;
    if (file)
        fclose(file);
    if (!whole) {
        err_fatal(err, EXIT_CONFIG, "schema_unreadable", "%s can't be read: %s", path,
                  text.failed ? "it is too large for a schema" : strerror(problem));
        return NULL;
    }
    struct err cause = {0};
    struct schema *schema = schema_parse(buf_slice(&text), &cause);
    if (!schema)
        err_fatal(err, EXIT_CONFIG, cause.code, "%s: %.800s", path, cause.msg);
    return schema;
}

char *
schema_file_name(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t len = strlen(base);
    if (len <= 5 || strcmp(base + len - 5, ".avsc") != 0) {
        err_fatal(err, EXIT_USAGE, "bad_value", "%s: a schema is a file NAME.avsc", path);
        return NULL;
    }
    char *name = strndup(base, len - 5);
    if (!name)
        err_no_memory(err, "a name");
    return name;
}

static void
version_path(const char *released, const char *name, size_t version, struct buf *out)
{
    buf_addf(out, "%s/%s/%zu.avsc", released, name, version);
    buf_text(out);
}

void
schema_versions_done(struct schema_versions *versions)
{
    for (size_t i = 0; i < versions->n; i++)
        schema_free(versions->items[i]);
    free(versions->items);
    *versions = (struct schema_versions){0};
}

enum err_kind
schema_versions_read(const char *released,
                     const char *name,
                     struct schema_versions *ret_versions,
                     struct err *err)
{
    struct schema_versions found = {
        .items = calloc(SCHEMA_VERSIONS_MAX, sizeof(struct schema *))};
    if (!found.items)
        return err_no_memory(err, "the released versions");
    for (; found.n < SCHEMA_VERSIONS_MAX; found.n++) {
        CLEANUP(buf_done) struct buf path = BUF_INIT;
        version_path(released, name, found.n + 1, &path);
        if (access(path.data, F_OK) != 0)
            break;
        found.items[found.n] = schema_file_read(path.data, err);
        if (!found.items[found.n]) {
            schema_versions_done(&found);
            return err->kind;
        }
    }
    *ret_versions = found;
    return ERR_OK;
}

static enum err_kind
unwritable(const char *path, struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "schema_unwritable", "%s can't be written: %s",
                     path, strerror(errno));
}

static bool
write_text(int fd, struct slice text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.data, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text.data += n;
        text.len -= (size_t)n;
    }
    return fsync(fd) == 0;
}

enum err_kind
schema_version_write(const char *released,
                     const char *name,
                     size_t version,
                     const struct schema *schema,
                     struct err *err)
{
    CLEANUP(buf_done) struct buf folder = BUF_INIT;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf temporary = BUF_INIT;
    buf_addf(&folder, "%s/%s", released, name);
    version_path(released, name, version, &path);
    buf_addf(&temporary, "%s/.%zu.XXXXXX", buf_text(&folder), version);
    if ((mkdir(released, 0777) && errno != EEXIST) ||
        (mkdir(folder.data, 0777) && errno != EEXIST))
        return unwritable(folder.data, err);
    int fd = buf_text(&temporary)[0] ? mkostemp(temporary.data, O_CLOEXEC) : -1;
    if (fd < 0)
        return unwritable(folder.data, err);
    bool written = write_text(fd, schema_text(schema)) && fchmod(fd, 0644) == 0;
    close(fd);
    /* link() and not rename(): a version that is there already is never replaced. */
    enum err_kind kind = ERR_OK;
    if (!written || link(temporary.data, path.data))
        kind = unwritable(path.data, err);
    unlink(temporary.data);
    return kind;
}
