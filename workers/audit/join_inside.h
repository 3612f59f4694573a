/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside join.h, what its files share: join.c says who belongs to whom, join_send.c
 * derives and sends, join_state.c says what is kept.
 */
#pragma once

#include "digest.h"
#include "join.h"

int join_compare_times(int64_t a, int64_t b);
/* What only one part can be: kind and name, of a log its event time as well. */
int join_compare_identity(const struct join_part *a, const struct join_part *b);
/* Parts of a kind that stay. */
size_t join_count(const struct join *join, enum join_part_kind kind);

/* Gives every part that stays to its run, or to the one of what waits. */
enum err_kind join_assign(struct join *join, struct err *err);
/* No result is there for it; and: it has waited long enough to be shown. */
bool join_is_waiting(const struct join *join, const struct join_item *item);
bool join_is_shown(const struct join *join, const struct join_item *item);

/* run_key; "" of what waits. */
struct slice join_run_name(const struct join_run *run);
bool join_has_parts(const struct join_run *run);
/* Digest of what the run is derived from, into `run->parts`. */
enum err_kind join_digest_run(struct join_run *run, struct err *err);
/* A copy of it in the arena. */
enum err_kind join_keep_digest(struct join *join,
                               const uint8_t digest[JOIN_DIGEST_BYTES],
                               struct slice *ret,
                               struct err *err);

/* Derives a run that has changed and adds what differs from what was sent. */
enum err_kind join_send_run(struct join *join,
                            struct join_run *run,
                            const struct provenance *base,
                            struct emits *out,
                            struct err *err);
