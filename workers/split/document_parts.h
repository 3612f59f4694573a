/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the document of a split (splitting.md 11.5), which document_add() puts
 * together. */
#pragma once

#include "buf.h"
#include "split.h"

/* The member "manifest", as far as the split came. */
void document_add_manifest(struct buf *out, const struct split_answer *answer);
void document_add_time(struct buf *out, const struct time_figures *time);
void document_add_launch(struct buf *out,
                         const struct launch_figures *launch,
                         uint64_t kernel_count,
                         bool has_roots);
