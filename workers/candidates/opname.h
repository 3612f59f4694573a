/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operators, brought to one form (roots-and-sources.md 4). */
#pragma once

#include "arena.h"
#include "slice.h"

/* Without accessor, return type, "(... Op)" and ".kd". Borrowed from `name`. */
struct slice opname_normal(struct slice name);
/* Without balanced template arguments; `name` itself when nothing else is in it. A null
 * slice when there is no memory. */
struct slice opname_plain(struct slice name, struct arena *arena);
/*
 * The qualified function name of a mangled one, a::b; empty when it is not mangled or
 * not understood, null when there is no memory.
 */
struct slice opname_demangle(struct slice name, struct arena *arena);
