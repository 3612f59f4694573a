/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes that a kernel's name says: BLOCK_SIZE_M_64 is "M=64" (kernel-table.md 4). */
#pragma once

#include "arena.h"
#include "field.h"

#include <stdbool.h>

/* All of them (struct slice), in order, in `arena`. False: no memory. */
bool tiles_read(struct slice name, struct arena *arena, struct list *ret_tiles);
