/* SPDX-License-Identifier: Apache-2.0 */
/* Instance names, each held by a lock on a file. */
#include "instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "config.h"

enum { ID_BYTES = 250, NAME_BYTES = 128, PATH_BYTES = 4096, MAX_INSTANCES = 1024 };

struct instance {
    int fd;
    char id[ID_BYTES];
};

/* Letters of a Kafka name; anything else is an underscore. */
static void
clean(char *id)
{
    for (; *id; id++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                    *id))
            *id = '_';
}

/* The process that the lock file names; 0 when it names none. */
static long
holder(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static void
write_holder(int fd)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    /* Only for the message of a second process: a full disk costs its number. */
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) < 0)
        return;
}

enum outcome { TAKEN_BY_US, TAKEN_BY_OTHER, FAILED };

static enum outcome
try_name(struct instance *instance, const char *dir, long *ret_holder)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.lock", dir, instance->id);
    instance->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (instance->fd < 0)
        return FAILED;
    if (flock(instance->fd, LOCK_EX | LOCK_NB) == 0) {
        write_holder(instance->fd);
        return TAKEN_BY_US;
    }
    *ret_holder = holder(instance->fd);
    close(instance->fd);
    instance->fd = -1;
    return TAKEN_BY_OTHER;
}

static void
set_id(struct instance *instance, const char *worker, const char *group, const char *name)
{
    snprintf(instance->id, sizeof instance->id, "heddle-%s-%s-%s", worker, group, name);
    clean(instance->id);
}

static enum err_kind
take(struct instance *instance,
     const char *dir,
     const char *worker,
     const char *group,
     const char *wanted,
     struct err *err)
{
    char host[NAME_BYTES] = "host";
    char name[NAME_BYTES + 16];
    long other = 0;
    enum outcome outcome = TAKEN_BY_OTHER;
    gethostname(host, sizeof host - 1);
    for (int i = 1; i <= MAX_INSTANCES && outcome == TAKEN_BY_OTHER; i++) {
        snprintf(name, sizeof name, "%s-%d", host, i);
        set_id(instance, worker, group, wanted ? wanted : name);
        outcome = try_name(instance, dir, &other);
        if (wanted)
            break;
    }
    if (outcome == TAKEN_BY_US)
        return ERR_OK;
    if (outcome == FAILED)
        return err_fatal(err, EXIT_CONFIG, "state_dir_unusable",
                         "%s can't be locked in %s: %s; set state_dir", instance->id, dir,
                         strerror(errno));
    return err_fatal(err, EXIT_CONFIG, "instance_taken",
                     "%s is held by process %ld; give this one another instance",
                     instance->id, other);
}

struct instance *
instance_take(const char *state_dir,
              const char *worker,
              const char *group,
              const char *wanted,
              struct err *err)
{
    char *dir = config_state_dir(state_dir, "instances", true, err);
    struct instance *instance = dir ? calloc(1, sizeof *instance) : NULL;
    if (dir && !instance)
        err_no_memory(err, "an instance's name");
    if (instance && take(instance, dir, worker, group, wanted, err)) {
        free(instance);
        instance = NULL;
    }
    free(dir);
    return instance;
}

void
instance_release(struct instance *instance)
{
    if (!instance)
        return;
    close(instance->fd);
    free(instance);
}

const char *
instance_id(const struct instance *instance)
{
    return instance->id;
}
