/* SPDX-License-Identifier: Apache-2.0 */
/* Trace health from the numbers of a split (gates.md 6): measures and warnings. */
#pragma once

#include "gate_config.h"
#include "input.h"
#include "note.h"
#include "verdict.h"

/*
 * `trace`: the trace's figures, NULL when none were recorded (no measures then);
 * `accepted`: those of the accepted chunk, NULL on refusal or without numbers. Adds the
 * warnings that fire and returns whether candidates are suppressed. `ret_measures` is
 * filled whole, rounded.
 */
bool health_check(const struct trace_numbers *trace,
                  const struct chunk_numbers *accepted,
                  enum split_status status,
                  const struct gate_config *config,
                  struct note_list *notes,
                  struct verdict_measures *ret_measures);

/* Graph launches with kernels/graph launches; unknown without launches. */
struct amount health_graph_coverage(const struct trace_numbers *trace);
/* The condition of H3. */
bool health_graph_under_recorded(const struct trace_numbers *trace);
