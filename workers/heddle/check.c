/* SPDX-License-Identifier: Apache-2.0 */
/* heddle check: every effective setting and where it came from. */
#include "verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

enum { PATH_BYTES = 4096, WORKER_ARGUMENTS = 256 };

static struct {
    const char *worker;
} settings;

static const struct option check_options[] = {
    {.name = "worker",
     .type = OPTION_TEXT,
     .offset = 0,
     .arg = "NAME",
     .traits = OPTION_CLI_ONLY,
     .help = "Checks as heddle-NAME reads it, its own section included."},
};

static bool
is_worker_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return len > 0 && len < 64 && name[len] == '\0' && name[0] != '-';
}

/* heddle-NAME lies beside this program; else PATH is searched. */
static void
worker_path(const char *name, char path[static PATH_BYTES])
{
    char self[PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    int len = slash ? snprintf(path, PATH_BYTES, "%s/heddle-%s", self, name) : 0;
    if (len <= 0 || len >= PATH_BYTES || access(path, X_OK) != 0)
        snprintf(path, PATH_BYTES, "heddle-%s", name);
}

/* The flags as given, without --worker, and --check. */
static enum err_kind
worker_arguments(const struct program_call *call,
                 const char *path,
                 const char *argv[static WORKER_ARGUMENTS],
                 struct err *err)
{
    int n = 0;
    argv[n++] = path;
    argv[n++] = "--check";
    for (int i = 1; i < call->argc; i++) {
        if (n == WORKER_ARGUMENTS - 1)
            return err_fatal(err, EXIT_USAGE, "bad_value", "too many arguments");
        bool apart = strcmp(call->argv[i], "--worker") == 0;
        if (apart)
            i++;
        else if (strncmp(call->argv[i], "--worker=", 9) != 0)
            argv[n++] = call->argv[i];
    }
    argv[n] = NULL;
    return ERR_OK;
}

/* The worker knows its own table, so it is asked: its --check prints and leaves. */
static enum err_kind
check_worker(const struct program_call *call, struct err *err)
{
    if (!is_worker_name(settings.worker))
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "--worker %.100s: a name like audit is wanted", settings.worker);
    char path[PATH_BYTES];
    const char *argv[WORKER_ARGUMENTS];
    worker_path(settings.worker, path);
    if (worker_arguments(call, path, argv, err))
        return err->kind;
    execvp(path, (char *const *)(uintptr_t)argv);
    return err_fatal(err, EXIT_USAGE, "worker_unknown",
                     "heddle-%s can't be started: %s; is it installed beside heddle?",
                     settings.worker, strerror(errno));
}

static int
run(const struct program_call *call, struct err *err)
{
    if (verb_refuse_rest(call, 0, err))
        return EXIT_USAGE;
    if (settings.worker)
        check_worker(call, err);
    else
        program_check(call, err);
    return EXIT_OK;
}

const struct verb verb_check = {
    .name = "check",
    .usage = "[--worker NAME] [OPTION]...",
    .summary = "Prints each effective setting and where it came from.",
    .details =
        "A setting that is wrong is said with its place, and the exit status is 78.",
    .options = check_options,
    .n_options = sizeof check_options / sizeof *check_options,
    .settings = &settings,
    .worker = true,
    .run = run,
};
