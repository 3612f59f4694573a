/* SPDX-License-Identifier: Apache-2.0 */
/* The input key: where a run lies, else what it calls itself, else what it says. */
#include "input_key.h"

enum { SHA256_KEY_DIGITS = 32 };

/* Cuts the last path segment off; an empty one counts as none. */
static struct slice
cut_segment(struct slice *path)
{
    const char *slash = path->len ? memrchr(path->data, '/', path->len) : NULL;
    size_t start = slash ? (size_t)(slash - path->data) + 1 : 0;
    struct slice segment = {path->data + start, path->len - start};
    path->len = start;
    return segment;
}

static inline bool
cut_suffix(struct slice *path, struct slice suffix)
{
    if (path->len < suffix.len ||
        memcmp(path->data + path->len - suffix.len, suffix.data, suffix.len) != 0)
        return false;
    path->len -= suffix.len;
    return true;
}

static bool
split(struct slice path, struct workspace_parts *ret_parts)
{
    while (path.len > 0 && path.data[path.len - 1] == '/')
        path.len--;
    struct slice task = cut_segment(&path);
    if (task.len == 0 || !cut_suffix(&path, SLICE("/runs/gemm_tuning/")))
        return false;
    struct slice session = cut_segment(&path);
    if (session.len == 0 || !cut_suffix(&path, SLICE("/")))
        return false;
    struct slice model = cut_segment(&path);
    if (model.len == 0)
        return false;
    size_t trace = (size_t)(session.data + session.len - model.data);
    *ret_parts = (struct workspace_parts){model, session, task, {model.data, trace}};
    return true;
}

/* The reference's `$` also stands before a line feed at the very end, so behind a slash
 * the line feed is no task of its own unless there is no other. */
bool
workspace_split(struct slice workspace, struct workspace_parts *ret_parts)
{
    size_t len = workspace.len;
    bool feed =
        len > 1 && workspace.data[len - 1] == '\n' && workspace.data[len - 2] == '/';
    if (feed && split((struct slice){workspace.data, len - 1}, ret_parts))
        return true;
    return split(workspace, ret_parts);
}

struct slice
input_key_make(const struct input_key_source *source, struct arena *arena)
{
    struct workspace_parts parts;
    if (workspace_split(source->workspace, &parts))
        return arena_printf(arena, "%.*s/%.*s", SLICE_ARG(parts.trace),
                            SLICE_ARG(parts.task));
    if (source->workspace.len > 0)
        return source->workspace;
    if (source->attempt_id.len > 0)
        return source->attempt_id;
    if (source->run_id.len > 0)
        return source->run_id;
    return arena_printf(arena, "sha256:%.*s", SHA256_KEY_DIGITS,
                        source->sha256.data ? source->sha256.data : "");
}
