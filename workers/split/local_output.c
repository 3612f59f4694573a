/* SPDX-License-Identifier: Apache-2.0 */
/* DIR/BASE.split of local mode. */
#include "local_output.h"

#include "cleanup.h"
#include "digest.h"
#include "disk.h"
#include "pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 + 256, FILE_MODE = 0644, DIR_MODE = 0755 };

/* A chunk file that is being written. */
struct file {
    int fd;
    struct pack *pack;
    struct digest *digest;
    char sha256[DIGEST_HEX];
};

struct local_output {
    char dir[PATH_BYTES];
    char work[PATH_BYTES];  /* DIR/.BASE.split.XXXXXX; "": put in place */
    char final[PATH_BYTES]; /* DIR/BASE.split */
    char refused[PATH_BYTES];
    const struct split_answer *answer;
    struct file files[SPLIT_MAX_CHUNKS];
    struct document_file written[SPLIT_MAX_CHUNKS];
};

static enum err_kind
failed(const char *path, struct err *err)
{
    return err_set(err, ERR_RECORD, "output_failed", "%.512s: %s", path, strerror(errno));
}

static enum err_kind
make_path(char path[PATH_BYTES],
          const char *dir,
          const char *before,
          struct slice base,
          const char *behind,
          struct err *err)
{
    int len =
        snprintf(path, PATH_BYTES, "%s/%s%.*s%s", dir, before, SLICE_ARG(base), behind);
    if (len >= 0 && len < PATH_BYTES)
        return ERR_OK;
    errno = ENAMETOOLONG;
    return failed(dir, err);
}

static enum err_kind
sync_dir(const char *path, struct err *err)
{
    return disk_sync_folder(path) ? ERR_OK : failed(path, err);
}

/* Deletes a folder of files. */
static void
remove_folder(const char *path)
{
    char name[PATH_BYTES + NAME_MAX + 1];
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(name);
    }
    closedir(dir);
    rmdir(path);
}

static enum err_kind
write_file(const char *path, struct slice bytes, struct err *err)
{
    CLEANUP(disk_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (fd < 0)
        return failed(path, err);
    return disk_write(fd, bytes) && fsync(fd) == 0 ? ERR_OK : failed(path, err);
}

/* --- the place --------------------------------------------------------------------- */

enum err_kind
local_output_new(const char *dir,
                 struct slice base,
                 struct local_output **ret_output,
                 struct err *err)
{
    struct local_output *output = calloc(1, sizeof *output);
    if (!output)
        return err_no_memory(err, "the output");
    for (size_t i = 0; i < SPLIT_MAX_CHUNKS; i++)
        output->files[i].fd = -1;
    *ret_output = output;
    if (mkdir(dir, DIR_MODE) != 0 && errno != EEXIST)
        return failed(dir, err);
    snprintf(output->dir, sizeof output->dir, "%s", dir);
    if (make_path(output->final, dir, "", base, ".split", err) ||
        make_path(output->refused, dir, "", base, ".refused.json", err) ||
        make_path(output->work, dir, ".", base, ".split.XXXXXX", err))
        return err->kind;
    if (!mkdtemp(output->work)) {
        enum err_kind kind = failed(dir, err);
        output->work[0] = '\0';
        return kind;
    }
    return chmod(output->work, DIR_MODE) != 0 ? failed(output->work, err) : ERR_OK;
}

static void
file_done(struct file *file)
{
    pack_free(file->pack);
    if (file->digest)
        digest_free(file->digest);
    if (file->fd >= 0)
        close(file->fd);
    file->pack = NULL;
    file->digest = NULL;
    file->fd = -1;
}

void
local_output_free(struct local_output *output)
{
    if (!output)
        return;
    for (size_t i = 0; i < SPLIT_MAX_CHUNKS; i++)
        file_done(&output->files[i]);
    if (output->work[0])
        remove_folder(output->work);
    free(output);
}

/* --- chunks ------------------------------------------------------------------------ */

static enum err_kind
write_packed(void *state, struct slice bytes, struct err *err)
{
    const struct file *file = state;
    if (disk_write(file->fd, bytes))
        return ERR_OK;
    return err_set(err, ERR_RECORD, "output_failed", "%s", strerror(errno));
}

static enum err_kind
open_chunk(struct local_output *output, size_t i, struct err *err)
{
    char path[PATH_BYTES];
    struct file *file = &output->files[i];
    if (make_path(path, output->work, "", output->answer->chunks[i].file, "", err))
        return err->kind;
    file->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (file->fd < 0)
        return failed(path, err);
    file->pack = pack_new(write_packed, file);
    file->digest = digest_new();
    if (!file->pack || !file->digest)
        return err_no_memory(err, "a chunk file");
    return ERR_OK;
}

static enum err_kind
write_chunk(void *state, size_t i, struct slice piece, struct err *err)
{
    struct local_output *output = state;
    struct file *file = &output->files[i];
    if (file->fd < 0 && open_chunk(output, i, err))
        return err->kind;
    digest_add(file->digest, piece);
    output->written[i].bytes += piece.len;
    return pack_add(file->pack, piece, err);
}

struct split_sink
local_output_sink(struct local_output *output, const struct split_answer *answer)
{
    output->answer = answer;
    return (struct split_sink){.state = output, .write = write_chunk};
}

enum err_kind
local_output_close(struct local_output *output,
                   const struct document_file **ret_files,
                   struct err *err)
{
    for (size_t i = 0; i < output->answer->n_chunks; i++) {
        struct file *file = &output->files[i];
        if (pack_end(file->pack, err))
            return err->kind;
        if (fsync(file->fd) != 0)
            return failed(output->work, err);
        digest_end(file->digest, file->sha256);
        output->written[i].sha256 = file->sha256;
        file_done(file);
    }
    *ret_files = output->written;
    return ERR_OK;
}

/* --- putting in place -------------------------------------------------------------- */

/* Into the place of what is there, which then lies in the work folder. */
static enum err_kind
put_in_place(struct local_output *output, struct err *err)
{
    if (rename(output->work, output->final) == 0) {
        output->work[0] = '\0';
        return ERR_OK;
    }
    if (errno != EEXIST && errno != ENOTEMPTY)
        return failed(output->final, err);
    if (renameat2(AT_FDCWD, output->work, AT_FDCWD, output->final, RENAME_EXCHANGE) != 0)
        return failed(output->final, err);
    return ERR_OK;
}

enum err_kind
local_output_commit(struct local_output *output, struct slice document, struct err *err)
{
    char path[PATH_BYTES];
    if (make_path(path, output->work, "", SLICE("split.json"), "", err) ||
        write_file(path, document, err) || sync_dir(output->work, err) ||
        put_in_place(output, err))
        return err->kind;
    unlink(output->refused);
    return sync_dir(output->dir, err);
}

enum err_kind
local_output_refuse(const char *dir,
                    struct slice base,
                    struct slice document,
                    struct err *err)
{
    char path[PATH_BYTES];
    char work[PATH_BYTES];
    if (mkdir(dir, DIR_MODE) != 0 && errno != EEXIST)
        return failed(dir, err);
    if (make_path(path, dir, "", base, ".refused.json", err) ||
        make_path(work, dir, ".", base, ".refused.XXXXXX", err))
        return err->kind;
    int fd = mkostemp(work, O_CLOEXEC);
    if (fd < 0)
        return failed(dir, err);
    fchmod(fd, FILE_MODE);
    close(fd);
    if (write_file(work, document, err)) {
        unlink(work);
        return err->kind;
    }
    if (rename(work, path) != 0) {
        unlink(work);
        return failed(path, err);
    }
    return sync_dir(dir, err);
}
