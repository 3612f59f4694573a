/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that talk to other GPUs, by name (kernel-table.md 6). */
#pragma once

#include "arena.h"
#include "slice.h"

/*
 * The collective operation that the name of a device kernel means, "unknown" among them;
 * NULL when it is none. Static.
 */
const char *collective_of(struct slice name);
