/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary folders of tests. */
#include "temp_dir.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool
temp_dir_make(struct temp_dir *dir)
{
    const char *base = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/heddle-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        return false;
    dir->path = realpath(path, NULL);
    return dir->path != NULL;
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

void
temp_dir_done(struct temp_dir *dir)
{
    if (!dir->path)
        return;
    nftw(dir->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(dir->path);
    dir->path = NULL;
}

char *
temp_path(const struct temp_dir *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir->path, name) < 0 ? NULL : path;
}

static void
make_parents(char *path)
{
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0755);
        *p = '/';
    }
}

bool
temp_touch(const struct temp_dir *dir, const char *name, int age_s)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age_s;
    times[1] = times[0];
    char *path = temp_path(dir, name);
    bool good = path && utimensat(AT_FDCWD, path, times, 0) == 0;
    free(path);
    return good;
}

bool
temp_write(const struct temp_dir *dir, const char *name, const char *text, int age_s)
{
    char *path = temp_path(dir, name);
    if (!path)
        return false;
    make_parents(path);
    FILE *file = fopen(path, "w");
    bool good = file && fwrite(text, 1, strlen(text), file) == strlen(text);
    if (file)
        good = fclose(file) == 0 && good;
    free(path);
    return good && temp_touch(dir, name, age_s);
}
