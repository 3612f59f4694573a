/* SPDX-License-Identifier: Apache-2.0 */
/* Task groups. */
#include "groups.h"

#include "buf.h"
#include "cleanup.h"
#include "opname.h"

#include <stdlib.h>
#include <strings.h>

static const char *const native[] = {".cu",  ".cuh", ".hip", ".cpp", ".cc",
                                     ".cxx", ".hpp", ".hh",  ".h",   ".c"};

/* A routable row and its group's key. */
struct member {
    const struct group_row *row;
    struct task_group group; /* key, operation and path */
    size_t order;
};

static bool
is_routable(const struct group_row *row)
{
    return row->reusable_native_kernel && !row->not_dispatchable &&
           amount_trim(row->source_file).len > 0;
}

static bool
is_native(struct slice path)
{
    for (size_t i = 0; i < sizeof native / sizeof native[0]; i++) {
        size_t len = strlen(native[i]);
        if (path.len >= len &&
            strncasecmp(path.data + path.len - len, native[i], len) == 0)
            return true;
    }
    return false;
}

/* Without empty and "." components. */
static struct slice
clean_path(struct slice path, struct arena *arena)
{
    char *clean = arena_alloc(arena, path.len + 2);
    size_t n = 0;
    if (!clean)
        return (struct slice){0};
    bool rooted = path.len && path.data[0] == '/';
    for (size_t at = 0; at < path.len;) {
        const char *end = memchr(path.data + at, '/', path.len - at);
        size_t len = end ? (size_t)(end - path.data) - at : path.len - at;
        bool dot = len == 1 && path.data[at] == '.';
        if (len && !dot) {
            if (n || rooted)
                clean[n++] = '/';
            memcpy(clean + n, path.data + at, len);
            n += len;
        }
        at += len + 1;
    }
    if (n == 0 && rooted)
        clean[n++] = '/';
    return (struct slice){clean, n};
}

/* JSON text of a string, its characters as they are. */
static void
write_text(struct buf *out, struct slice text)
{
    static const char plain[] = "\"\\\n\r\t\f\b";
    static const char letters[] = "\"\\nrtfb";
    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        const char *known = c ? strchr(plain, c) : NULL;
        if (known)
            buf_addf(out, "\\%c", letters[known - plain]);
        else if (c < 0x20)
            buf_addf(out, "\\u%04x", c);
        else
            buf_add_byte(out, (char)c);
    }
    buf_add_byte(out, '"');
}

static bool
name_group(const struct group_row *row, struct arena *arena, struct task_group *group)
{
    CLEANUP(buf_done) struct buf key = BUF_INIT;
    struct slice source = amount_trim(row->source_file);
    bool compiled = is_native(source);
    struct slice operation = opname_plain(opname_normal(row->name), arena);
    if (compiled && operation.data) {
        struct slice plain = opname_demangle(operation, arena);
        operation = plain.len || !plain.data ? plain : operation;
    }
    group->operation = operation;
    group->source_path = clean_path(source, arena);
    if (!operation.data || !group->source_path.data)
        return false;
    buf_add_str(&key, "{\"operation\":");
    write_text(&key, operation);
    buf_addf(&key,
             ",\"source_kind\":\"%s\",\"source_path\":", compiled ? "native" : "py");
    write_text(&key, group->source_path);
    buf_add_str(&key, ",\"version\":3}");
    if (key.failed)
        return false;
    group->task_group_key = arena_copy(arena, buf_slice(&key));
    return group->task_group_key.data != NULL;
}

static int
by_key(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int d = slice_compare(x->group.task_group_key, y->group.task_group_key);
    return d ? d : (x->order > y->order) - (x->order < y->order);
}

static int
by_time(const void *a, const void *b)
{
    const struct task_group *x = a;
    const struct task_group *y = b;
    if (x->aggregate_duration_us > y->aggregate_duration_us)
        return -1;
    if (x->aggregate_duration_us < y->aggregate_duration_us)
        return 1;
    return slice_compare(x->task_group_key, y->task_group_key);
}

/* A sum that loses nothing to the order of its terms. */
struct exact_sum {
    double sum, rest;
};

static void
exact_add(struct exact_sum *total, double x)
{
    double sum = total->sum + x;
    total->rest +=
        fabs(total->sum) >= fabs(x) ? (total->sum - sum) + x : (x - sum) + total->sum;
    total->sum = sum;
}

static bool
leads(const struct group_row *row, const struct group_row *other)
{
    if (row->duration_us > other->duration_us)
        return true;
    return !(row->duration_us < other->duration_us) &&
           slice_compare(row->kernel_id, other->kernel_id) < 0;
}

/* The group of the members [0, n), all of one key. */
static bool
sum_group(const struct member *members,
          size_t n,
          struct arena *arena,
          struct task_group *group)
{
    struct exact_sum time = {0, 0};
    struct exact_sum share = {0, 0};
    const struct group_row *lead = members[0].row;
    *group = members[0].group;
    group->kernel_ids = arena_alloc(arena, n * sizeof group->kernel_ids[0]);
    if (!group->kernel_ids)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct group_row *row = members[i].row;
        bool counts = row->gpu_pct.known && isfinite(row->gpu_pct.value);
        group->kernel_ids[group->n_kernel_ids++] = row->kernel_id;
        exact_add(&time, row->duration_us);
        exact_add(&share, counts ? row->gpu_pct.value : 0);
        group->aggregate_call_count =
            (int64_t)((uint64_t)group->aggregate_call_count + (uint64_t)row->call_count);
        lead = leads(row, lead) ? row : lead;
    }
    group->primary_kernel_id = lead->kernel_id;
    group->aggregate_duration_us = amount_round(time.sum + time.rest, 3);
    group->aggregate_gpu_pct = amount_round(share.sum + share.rest, 3);
    return true;
}

static bool
number_groups(struct task_group *groups, size_t n, struct arena *arena)
{
    qsort(groups, n, sizeof groups[0], by_time);
    for (size_t i = 0; i < n; i++) {
        groups[i].task_group_id = arena_printf(arena, "tg%03zu", i + 1);
        if (!groups[i].task_group_id.data)
            return false;
    }
    return true;
}

enum err_kind
groups_build(const struct group_row *rows,
             size_t n,
             struct arena *arena,
             struct task_group **ret_groups,
             size_t *ret_n,
             struct err *err)
{
    struct member *members = arena_calloc(arena, n, sizeof members[0]);
    struct task_group *groups = arena_calloc(arena, n, sizeof groups[0]);
    size_t n_members = 0;
    size_t n_groups = 0;
    if (!members || !groups)
        return err_no_memory(err, "the task groups");
    for (size_t i = 0; i < n; i++) {
        if (!is_routable(&rows[i]))
            continue;
        members[n_members] = (struct member){.row = &rows[i], .order = i};
        if (!name_group(&rows[i], arena, &members[n_members++].group))
            return err_no_memory(err, "the key of a task group");
    }
    qsort(members, n_members, sizeof members[0], by_key);
    for (size_t at = 0, end = 0; at < n_members; at = end) {
        while (end < n_members && slice_equal(members[end].group.task_group_key,
                                              members[at].group.task_group_key))
            end++;
        if (!sum_group(&members[at], end - at, arena, &groups[n_groups++]))
            return err_no_memory(err, "a task group");
    }
    if (!number_groups(groups, n_groups, arena))
        return err_no_memory(err, "the ids of task groups");
    *ret_groups = groups;
    *ret_n = n_groups;
    return ERR_OK;
}
