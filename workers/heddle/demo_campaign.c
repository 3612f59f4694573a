/* SPDX-License-Identifier: Apache-2.0 */
/* heddle demo-campaign: a campaign folder to feed, of the published census. */
#include "verb.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign_gen.h"
#include "cleanup.h"

enum { PATH_BYTES = 4096 };

static struct demo_settings {
    int64_t seed;
} settings;

static const struct option demo_options[] = {
    {.name = "seed",
     .type = OPTION_INT,
     .offset = offsetof(struct demo_settings, seed),
     .value = "1",
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "Draws what is not published: which run had which tuner, and how long."},
};

static enum err_kind
refuse(struct err *err, const char *what, const char *path)
{
    return err_fatal(err, errno == EACCES ? EXIT_PERMISSION : EXIT_TRY_AGAIN,
                     "campaign_unwritable", "%.500s can't be %s: %s", path, what,
                     strerror(errno));
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
write_all(int fd, struct slice content)
{
    while (content.len) {
        ssize_t n = write(fd, content.data, content.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        content.data += n;
        content.len -= (size_t)n;
    }
    return true;
}

static bool
set_time(int fd, int64_t mtime_us)
{
    struct timespec at = {mtime_us / 1000000, mtime_us % 1000000 * 1000};
    return futimens(fd, (struct timespec[]){at, at}) == 0;
}

static enum err_kind
write_file(void *state, const struct campaign_file *file, struct err *err)
{
    char path[PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s/%s", (const char *)state, file->path);
    if (len < 0 || (size_t)len >= sizeof path)
        return err_fatal(err, EXIT_USAGE, "bad_value", "the name %.100s... is too long",
                         path);
    if (make_folders(path, err))
        return err->kind;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(err, "made", path);
    bool good = write_all(fd, file->content) && set_time(fd, file->mtime_us);
    if (!good)
        refuse(err, "written", path);
    if (close(fd) != 0 && good)
        return refuse(err, "written", path);
    return good ? ERR_OK : err->kind;
}

/* A campaign mixed into other files would have another census. */
static enum err_kind
check_folder(const char *path, struct err *err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? ERR_OK : refuse(err, "read", path);
    size_t n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    if (n <= 2) /* . and .. */
        return ERR_OK;
    return err_fatal(err, EXIT_USAGE, "folder_not_empty",
                     "%.500s is not empty; give a new or an empty folder", path);
}

static int
run(const struct program_call *call, struct err *err)
{
    struct campaign_totals totals = {0};
    if (call->n_rest == 0)
        err_fatal(err, EXIT_USAGE, "argument_missing",
                  "a folder is wanted: heddle demo-campaign DIR");
    if (err->kind || verb_refuse_rest(call, 1, err) || check_folder(call->rest[0], err) ||
        campaign_generate((uint64_t)settings.seed, write_file, call->rest[0], &totals,
                          err))
        return EXIT_INTERNAL;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    buf_addf(&out, "%s: %zu runs in %zu sessions, %zu logs, %zu lost runs\n",
             call->rest[0], totals.results, totals.traces, totals.logs, totals.lost);
    return program_print(&out, err) ? EXIT_INTERNAL : EXIT_OK;
}

const struct verb verb_demo_campaign = {
    .name = "demo-campaign",
    .usage = "[OPTION]... DIR",
    .summary = "Writes a campaign folder to try the fleet with.",
    .details = "388 runs in the proportions published for 18 August 2026. As on a node, "
               "the files\nname no backend; feed them with\n"
               "  heddle feed --set backend='\"forge\"' --set engine='\"forge\"' DIR",
    .options = demo_options,
    .n_options = sizeof demo_options / sizeof demo_options[0],
    .settings = &settings,
    .no_settings = true,
    .run = run,
};
