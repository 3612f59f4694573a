/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a demo. */
#include "demo_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"

enum { PATH_BYTES = 4096 };

static enum err_kind
refuse(struct err *err, const char *what, const char *path)
{
    return err_fatal(err, errno == EACCES ? EXIT_PERMISSION : EXIT_TRY_AGAIN,
                     "demo_unwritable", "%.500s can't be %s: %s", path, what,
                     strerror(errno));
}

enum err_kind
demo_folder_check(const char *folder, struct err *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT ? ERR_OK : refuse(err, "read", folder);
    size_t n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    if (n <= 2) /* . and .. */
        return ERR_OK;
    return err_fatal(err, EXIT_USAGE, "folder_not_empty",
                     "%.500s is not empty; give a new or an empty folder", folder);
}

/* Makes the folders above the last part of `path`. */
static enum err_kind
make_folders(char *path, struct err *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return refuse(err, "made", path);
        *slash = '/';
    }
    return ERR_OK;
}

static bool
set_time(int fd, int64_t mtime_us)
{
    struct timespec at = {mtime_us / 1000000, mtime_us % 1000000 * 1000};
    return mtime_us < 0 || futimens(fd, (struct timespec[]){at, at}) == 0;
}

enum err_kind
demo_folder_write(const char *folder,
                  const char *name,
                  struct slice content,
                  int64_t mtime_us,
                  struct err *err)
{
    char path[PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof path)
        return err_fatal(err, EXIT_USAGE, "bad_value", "the name %.100s... is too long",
                         path);
    if (make_folders(path, err))
        return err->kind;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(err, "made", path);
    bool good = disk_write(fd, content) && set_time(fd, mtime_us);
    if (!good)
        refuse(err, "written", path);
    if (close(fd) != 0 && good)
        return refuse(err, "written", path);
    return good ? ERR_OK : err->kind;
}
