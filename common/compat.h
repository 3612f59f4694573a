/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a schema follow the ones that were released before it? The seven modes of
 * Confluent's registry, decided offline. CI asks with FULL_TRANSITIVE, because a replay
 * reads every version that was ever written (design: replayable log).
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "schema.h"

#include <stdbool.h>
#include <stddef.h>

enum compat_mode {
    COMPAT_NONE,
    COMPAT_BACKWARD,            /* the new one reads what the last one wrote */
    COMPAT_BACKWARD_TRANSITIVE, /* … what any released one wrote */
    COMPAT_FORWARD,             /* the last one reads what the new one writes */
    COMPAT_FORWARD_TRANSITIVE,
    COMPAT_FULL, /* both */
    COMPAT_FULL_TRANSITIVE,
    COMPAT_MODES, /* how many there are */
};

/* "FULL_TRANSITIVE"; NULL for a number that is no mode. Static. */
const char *compat_mode_name(enum compat_mode mode);
/* False when `name` is no mode. */
bool compat_mode_parse(const char *name, enum compat_mode *ret_mode);

/*
 * Every way in which `reader` can't read what `writer` wrote, one line each: the JSON
 * path in the reader's schema, then the reason. Returns how many; 0: it can read all.
 * What only some values would break (an enum's symbol, a union's branch) counts.
 */
size_t compat_can_read(const struct schema *reader,
                       const struct schema *writer,
                       struct buf *problems);

/*
 * Holds `candidate` against `released` (oldest first) by `mode`. Problems are appended
 * with the version (1 is the oldest) and the direction. Returns how many.
 */
size_t compat_check(enum compat_mode mode,
                    const struct schema *candidate,
                    const struct schema *const *released,
                    size_t n_released,
                    struct buf *problems);
