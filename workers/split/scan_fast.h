/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast reader: one event over the structural index. It walks the whole grammar, and
 * gives up at anything out of the ordinary, which the thorough reader then decides.
 */
#pragma once

#include "scan.h"
#include "scan_window.h"

/*
 * Reads the object that begins at `at` of the window, to where the index has come. The
 * place behind it, or 0: ask the thorough reader.
 */
size_t scan_fast_event(struct window *window, size_t at, struct scan_event *event);
