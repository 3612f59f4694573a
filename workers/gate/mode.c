/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and frameworks. */
#include "mode.h"

#include "amount.h"

#include <strings.h>

const char *const mode_names[MODES + 1] = {
    "mixed", "decode_only", "prefilldecode", "generic", NULL,
};

const char *const mode_labels[MODES] = {
    "mixed_steady_state",
    "decode_only_steady_state",
    "prefilldecode_steady_state",
    "steady_state",
};

const char *const framework_kind_names[KIND_UNKNOWN] = {"serving", "scriptable"};

static const char *const scriptable[] = {"xdit", "custom"};

enum gate_mode
mode_of(struct slice name)
{
    for (int i = 0; i < MODES; i++)
        if (slice_is(name, mode_names[i]))
            return (enum gate_mode)i;
    return MODES;
}

enum framework_kind
framework_kind_of_name(struct slice name)
{
    for (int i = 0; i < KIND_UNKNOWN; i++)
        if (slice_is(name, framework_kind_names[i]))
            return (enum framework_kind)i;
    return KIND_UNKNOWN;
}

enum framework_kind
framework_kind_of(struct slice framework)
{
    framework = amount_trim(framework);
    for (size_t i = 0; i < sizeof scriptable / sizeof scriptable[0]; i++)
        if (framework.len == strlen(scriptable[i]) &&
            strncasecmp(framework.data, scriptable[i], framework.len) == 0)
            return KIND_SCRIPTABLE;
    return KIND_SERVING;
}

struct mode_choice
mode_choose(enum framework_kind kind, struct slice requested, struct slice fallback)
{
    struct slice asked = amount_trim(requested);
    if (kind == KIND_SCRIPTABLE) {
        bool other = asked.len && !slice_is(asked, mode_names[MODE_GENERIC]);
        return (struct mode_choice){slice_of(mode_names[MODE_GENERIC]),
                                    other ? asked : (struct slice){0}};
    }
    if (asked.len == 0)
        asked = amount_trim(fallback);
    if (asked.len == 0)
        asked = slice_of(mode_names[MODE_MIXED]);
    return (struct mode_choice){.mode = asked};
}
