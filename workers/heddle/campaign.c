/* SPDX-License-Identifier: Apache-2.0 */
/* Walks folders by name, real ones first, links last. */
#include "campaign.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "cleanup.h"
#include "id_set.h"

/* Names kept for one folder, and links kept for the end. */
#define NAMES_MAX ((size_t)1 << 20)

struct names {
    char **items;
    size_t n;
    size_t cap;
};

struct campaign {
    struct campaign_visitor visitor;
    struct id_set seen;
    struct names links; /* paths of links to folders, met and not yet followed */
    struct arena arena; /* of the run at hand */
};

/* What a folder holds. */
struct folder {
    struct names children; /* sub-folders, sorted */
    struct names traces;   /* files, sorted */
    bool result, e2e, tuners;
};

static void
names_done(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

static void
folder_done(struct folder *folder)
{
    names_done(&folder->children);
    names_done(&folder->traces);
}

static void
closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static enum err_kind
names_add(struct names *names, const char *name, struct err *err)
{
    if (names->n == names->cap) {
        size_t cap = names->cap ? names->cap * 2 : 16;
        char **items =
            cap > NAMES_MAX * 2 ? NULL : realloc(names->items, cap * sizeof items[0]);
        if (!items)
            return err_no_memory(err, "the names of a folder");
        names->items = items;
        names->cap = cap;
    }
    char *copy = strdup(name);
    if (!copy)
        return err_no_memory(err, "the names of a folder");
    names->items[names->n++] = copy;
    return ERR_OK;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
names_sort(struct names *names)
{
    if (names->n > 1)
        qsort(names->items, names->n, sizeof names->items[0], by_name);
}

static void
tell(const struct campaign *c, const char *path, const char *what, int error)
{
    char message[256];
    snprintf(message, sizeof message, "%s: %s", what, strerror(error));
    c->visitor.problem(c->visitor.state, path, message);
}

static char *
join(const char *folder, const char *name)
{
    char *path = NULL;
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

static void
freep(char **p)
{
    free(*p);
}

/* The device and inode of a folder; false, and told, when it can't be looked at. */
static bool
folder_id(const struct campaign *c, DIR *dir, const char *path, struct id *ret_id)
{
    struct stat st;
    if (fstat(dirfd(dir), &st) != 0) {
        tell(c, path, "can't look at this folder", errno);
        return false;
    }
    *ret_id = (struct id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    return true;
}

/* Whether an entry is a folder itself (not a link to one). */
static bool
is_folder(const struct dirent *entry, const char *path)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool
is_link_to_folder(const struct dirent *entry, const char *path)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
        return false;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool
is_trace(const char *name)
{
    static const char *const suffixes[] = {".pt.trace.json", ".pt.trace.json.gz"};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (len > n && strcmp(name + len - n, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static enum err_kind
sort_entry(struct campaign *c,
           const char *folder_path,
           const struct dirent *entry,
           struct folder *folder,
           struct err *err)
{
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return ERR_OK;
    CLEANUP(freep) char *path = join(folder_path, name);
    if (!path)
        return err_no_memory(err, "a path");
    bool tuners = strcmp(name, "tuners") == 0;
    if (is_folder(entry, path)) {
        folder->tuners |= tuners;
        return names_add(&folder->children, name, err);
    }
    if (is_link_to_folder(entry, path)) {
        folder->tuners |= tuners;
        return names_add(&c->links, path, err);
    }
    folder->result |= strcmp(name, "result.json") == 0;
    folder->e2e |= strcmp(name, "e2e_results.json") == 0;
    if (c->visitor.trace && is_trace(name))
        return names_add(&folder->traces, name, err);
    return ERR_OK;
}

static enum err_kind
read_folder(struct campaign *c,
            DIR *dir,
            const char *path,
            struct folder *folder,
            struct err *err)
{
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(dir)) != NULL)
        if (sort_entry(c, path, entry, folder, err))
            return err->kind;
    if (errno)
        tell(c, path, "can't list all of this folder", errno);
    names_sort(&folder->children);
    names_sort(&folder->traces);
    return ERR_OK;
}

/* Fills `file` when `path` is a regular file; what else stands there is told. */
static enum err_kind
look_at_file(struct campaign *c,
             const char *path,
             struct campaign_file *file,
             struct err *err)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        tell(c, path, "can't look at this file", errno);
        return ERR_OK;
    }
    if (!S_ISREG(st.st_mode)) {
        c->visitor.problem(c->visitor.state, path, "no regular file");
        return ERR_OK;
    }
    struct slice copy = arena_copy(&c->arena, slice_of(path));
    if (!copy.data)
        return err_no_memory(err, "the parts of a run");
    *file = (struct campaign_file){copy.data, st.st_size,
                                   st.st_mtim.tv_sec * INT64_C(1000000000) +
                                       st.st_mtim.tv_nsec,
                                   (uint64_t)st.st_ino};
    return ERR_OK;
}

/* Names of the folders in tuners/ (links to folders count here). */
static enum err_kind
list_tuners(struct campaign *c, const char *path, struct names *names, struct err *err)
{
    CLEANUP(closedirp) DIR *dir = opendir(path);
    if (!dir) {
        tell(c, path, "can't open this folder", errno);
        return ERR_OK;
    }
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (names_add(names, entry->d_name, err))
            return err->kind;
    }
    if (errno)
        tell(c, path, "can't list all of this folder", errno);
    names_sort(names);
    return ERR_OK;
}

static enum err_kind
add_log(struct campaign *c,
        const char *tuners_path,
        const char *tuner,
        struct campaign_run *run,
        struct err *err)
{
    CLEANUP(freep) char *folder = join(tuners_path, tuner);
    CLEANUP(freep) char *path = folder ? join(folder, "tune.log") : NULL;
    if (!path)
        return err_no_memory(err, "a path");
    struct stat st;
    if (lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return ERR_OK; /* a tuner that never started a process leaves no log */
    struct campaign_log log = {0};
    if (look_at_file(c, path, &log.file, err))
        return err->kind;
    if (!log.file.path)
        return ERR_OK;
    log.tuner = arena_copy(&c->arena, slice_of(tuner)).data;
    if (!log.tuner)
        return err_no_memory(err, "the parts of a run");
    run->logs[run->n_logs++] = log;
    return ERR_OK;
}

static enum err_kind
collect_logs(struct campaign *c,
             const char *workspace,
             struct campaign_run *run,
             struct err *err)
{
    CLEANUP(names_done) struct names names = {0};
    CLEANUP(freep) char *path = join(workspace, "tuners");
    if (!path)
        return err_no_memory(err, "a path");
    if (list_tuners(c, path, &names, err))
        return err->kind;
    run->logs = arena_calloc(&c->arena, names.n, sizeof run->logs[0]);
    if (!run->logs)
        return err_no_memory(err, "the logs of a run");
    for (size_t i = 0; i < names.n; i++)
        if (add_log(c, path, names.items[i], run, err))
            return err->kind;
    return ERR_OK;
}

static enum err_kind
collect_file(struct campaign *c,
             const char *workspace,
             const char *name,
             struct campaign_file *file,
             struct err *err)
{
    CLEANUP(freep) char *path = join(workspace, name);
    if (!path)
        return err_no_memory(err, "a path");
    return look_at_file(c, path, file, err);
}

/* Gives the run of this folder when there is one. */
static enum err_kind
visit_run(struct campaign *c,
          const char *path,
          const struct folder *folder,
          bool *ret_is_run,
          struct err *err)
{
    struct campaign_run run = {.workspace = path};
    arena_reset(&c->arena);
    if (folder->result && collect_file(c, path, "result.json", &run.result, err))
        return err->kind;
    if (folder->e2e && collect_file(c, path, "e2e_results.json", &run.e2e, err))
        return err->kind;
    if (folder->tuners && collect_logs(c, path, &run, err))
        return err->kind;
    *ret_is_run = folder->result || folder->e2e || run.n_logs > 0;
    if (!run.result.path && !run.e2e.path && run.n_logs == 0)
        return ERR_OK;
    return c->visitor.run(c->visitor.state, &run, err);
}

/* --- traces ------------------------------------------------------------------------ */

/*
 * Names what is asked in `path` when anything stands there. Whether it can be read is for
 * the visitor to find out: a trace must not go without it.
 */
static void
find_asked(struct slice path, struct campaign_file *ret_ask)
{
    struct stat st;
    if (lstat(path.data, &st) == 0 || errno != ENOENT)
        *ret_ask = (struct campaign_file){.path = path.data};
}

static enum err_kind
find_ask(struct campaign *c,
         const char *path,
         struct campaign_file *ret_ask,
         struct err *err)
{
    const char *slash = strrchr(path, '/');
    struct slice own = arena_printf(&c->arena, "%s.request.json", path);
    struct slice shared =
        arena_printf(&c->arena, "%.*s/request.json", (int)(slash - path), path);
    if (!own.data || !shared.data)
        return err_no_memory(err, "a path");
    find_asked(own, ret_ask);
    if (!ret_ask->path)
        find_asked(shared, ret_ask);
    return ERR_OK;
}

enum err_kind
campaign_look_trace(struct campaign *c, const char *path, struct err *err)
{
    struct campaign_trace trace = {0};
    arena_reset(&c->arena);
    if (look_at_file(c, path, &trace.file, err) || find_ask(c, path, &trace.ask, err))
        return err->kind;
    return trace.file.path ? c->visitor.trace(c->visitor.state, &trace, err) : ERR_OK;
}

static enum err_kind
visit_traces(struct campaign *c,
             const char *path,
             const struct names *names,
             struct err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        CLEANUP(freep) char *file = join(path, names->items[i]);
        if (!file)
            return err_no_memory(err, "a path");
        if (campaign_look_trace(c, file, err))
            return err->kind;
    }
    return ERR_OK;
}

/* --- the walk ---------------------------------------------------------------------- */

static enum err_kind
walk(struct campaign *c, const char *path, int depth, struct err *err);

static enum err_kind
walk_children(struct campaign *c,
              const char *path,
              const struct names *children,
              bool is_run,
              int depth,
              struct err *err)
{
    for (size_t i = 0; i < children->n; i++) {
        if (is_run && strcmp(children->items[i], "tuners") == 0)
            continue; /* a tuner's own files are no runs */
        CLEANUP(freep) char *child = join(path, children->items[i]);
        if (!child)
            return err_no_memory(err, "a path");
        if (walk(c, child, depth + 1, err))
            return err->kind;
    }
    return ERR_OK;
}

/* Whether this folder is walked now: not twice, and not past the ceiling. */
static bool
enter(struct campaign *c, DIR *dir, const char *path)
{
    struct id id;
    if (!folder_id(c, dir, path, &id))
        return false;
    enum id_added added = id_set_add(&c->seen, id);
    if (added == ID_NO_ROOM)
        c->visitor.problem(c->visitor.state, path,
                           "left out: more folders than one walk can hold; feed smaller "
                           "folders");
    return added == ID_NEW;
}

static enum err_kind
walk(struct campaign *c, const char *path, int depth, struct err *err)
{
    CLEANUP(folder_done) struct folder folder = {0};
    bool is_run = false;
    if (depth > CAMPAIGN_MAX_DEPTH) {
        c->visitor.problem(c->visitor.state, path, "left out: nested too deep");
        return ERR_OK;
    }
    {
        CLEANUP(closedirp) DIR *dir = opendir(path);
        if (!dir) {
            tell(c, path, "can't open this folder", errno);
            return ERR_OK;
        }
        if (!enter(c, dir, path))
            return ERR_OK;
        if (read_folder(c, dir, path, &folder, err))
            return err->kind;
    }
    if (visit_run(c, path, &folder, &is_run, err) ||
        visit_traces(c, path, &folder.traces, err))
        return err->kind;
    return walk_children(c, path, &folder.children, is_run, depth, err);
}

/* A link may lead to further links: the list grows while it is worked off. */
static enum err_kind
follow_links(struct campaign *c, struct err *err)
{
    for (size_t i = 0; i < c->links.n; i++) {
        CLEANUP(freep) char *real = realpath(c->links.items[i], NULL);
        if (!real)
            tell(c, c->links.items[i], "can't follow this link", errno);
        else if (walk(c, real, 0, err))
            return err->kind;
    }
    names_done(&c->links);
    return ERR_OK;
}

struct campaign *
campaign_new(const struct campaign_visitor *visitor, struct err *err)
{
    struct campaign *c = calloc(1, sizeof *c);
    if (!c) {
        err_no_memory(err, "a walk");
        return NULL;
    }
    c->visitor = *visitor;
    return c;
}

void
campaign_free(struct campaign *c)
{
    if (!c)
        return;
    names_done(&c->links);
    id_set_done(&c->seen);
    arena_done(&c->arena);
    free(c);
}

enum err_kind
campaign_walk(struct campaign *c, const char *dir, struct err *err)
{
    CLEANUP(freep) char *real = realpath(dir, NULL);
    if (!real) {
        tell(c, dir, "can't open this folder", errno);
        return ERR_OK;
    }
    if (walk(c, real, 0, err))
        return err->kind;
    return follow_links(c, err);
}

enum err_kind
campaign_look(struct campaign *c, const char *workspace, struct err *err)
{
    CLEANUP(folder_done) struct folder folder = {0};
    CLEANUP(closedirp) DIR *dir = opendir(workspace);
    bool is_run;
    if (!dir) {
        tell(c, workspace, "can't open this folder", errno);
        return ERR_OK;
    }
    if (read_folder(c, dir, workspace, &folder, err))
        return err->kind;
    return visit_run(c, workspace, &folder, &is_run, err);
}
