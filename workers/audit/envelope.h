/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outermost object of a result: the known keys by name, the unknown ones aside, and
 * what the event's defaults fill in where a key is absent.
 */
#pragma once

#include "carried.h"
#include "json.h"
#include "tuning_event.h"

enum envelope_key {
    KEY_OTHER = 0, /* known, but neither the row nor x needs it */
    KEY_ATTEMPT_ID,
    KEY_BACKEND,
    KEY_BEST_SPEEDUP,
    KEY_DECISION,
    KEY_ENGINE,
    KEY_ERROR,
    KEY_ERROR_CLASS,
    KEY_FRAMEWORK,
    KEY_GPU_TYPE,
    KEY_MICRO_DECISION,
    KEY_PRECISION,
    KEY_REQUIRES_E2E_VALIDATION,
    KEY_RETURNCODE,
    KEY_RUN_ID,
    KEY_SKIP_REASON,
    KEY_STARTED_AT,
    KEY_STATUS,
    KEY_STDERR_TAIL,
    KEY_TUNED_FILE,
    KEY_TUNERS_RUN,
    KEY_WORKSPACE,
    N_ENVELOPE_KEYS,
};

struct member {
    struct slice key;
    size_t rank; /* of members with one key the lowest stands */
    struct json_value value;
    struct carried carried; /* what x shows of it; filled by members_carry() */
};

struct members {
    struct member *items;
    size_t n, cap;
};

/* JSON_NONE in `values`: the key is absent. Lies in the arena of the document. */
struct envelope {
    struct json_value values[N_ENVELOPE_KEYS];
    struct members unknown;
};

/*
 * Sorts the members of `result`, which is an object, then fills absent keys: first from
 * `defaults` (of a repeated key the last one), then `workspace` when it is not empty.
 * ERR_RECORD "tuning_event_malformed" for a default that is no JSON,
 * "record_too_large" when the arena is full.
 */
enum err_kind envelope_read(struct json_value result,
                            const struct list *defaults,
                            struct slice workspace,
                            struct envelope *ret_envelope,
                            struct err *err);

/* Appends a member; false when `arena` is full. */
bool members_add(struct members *members,
                 struct slice key,
                 struct json_value value,
                 struct arena *arena);
/* Sorts by key, drops repeats, and makes of each value what x carries; `entry` as in
 * struct place. */
enum err_kind members_carry(struct members *members,
                            int64_t entry,
                            struct notes *notes,
                            struct err *err);
/* Appends them as a JSON object in line form. */
void members_write(const struct members *members, struct buf *out);
