/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a run: `run_key` of its row, and the input key of its event. */
#pragma once

#include "derive.h"
#include "envelope.h"

/*
 * attempt_id, else run_id, else <Model>/<session>/<task> of the workspace with
 * @started_at, else "sha256:" and 32 digits of `sha256`, the digest of the result. As
 * text.h has text inside; a null slice when the arena is full.
 */
struct slice
run_key(const struct envelope *envelope, struct slice sha256, struct arena *arena);
