/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a run. */
#include "runkey.h"

#include "input_key.h"

static struct slice
join(struct arena *arena, const struct slice *parts, size_t n)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += parts[i].len;
    char *text = arena_alloc(arena, len);
    if (!text)
        return (struct slice){NULL, 0};
    char *at = text;
    for (size_t i = 0; i < n; i++)
        if (parts[i].len)
            at = mempcpy(at, parts[i].data, parts[i].len);
    return (struct slice){text, len};
}

struct slice
run_key(const struct envelope *envelope, struct slice sha256, struct arena *arena)
{
    struct slice id = json_string(envelope->values[KEY_ATTEMPT_ID]);
    if (id.len == 0)
        id = json_string(envelope->values[KEY_RUN_ID]);
    if (id.len)
        return id;
    struct workspace_parts parts;
    struct slice workspace = json_string(envelope->values[KEY_WORKSPACE]);
    if (workspace.len && workspace_split(workspace, &parts)) {
        struct slice start = json_string(envelope->values[KEY_STARTED_AT]);
        const struct slice pieces[] = {parts.trace, SLICE("/"), parts.task, SLICE("@"),
                                       start};
        return join(arena, pieces, start.len ? 5 : 3);
    }
    const struct slice pieces[] = {SLICE("sha256:"), {sha256.data, AUDIT_SRC_DIGITS}};
    return join(arena, pieces, 2);
}
