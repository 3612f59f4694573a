/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: a pure function of a split record (gates.md, kernel-table.md).
 *
 * In: the record that the splitter made of a trace. Out, in one transaction: one verdict;
 * of an accepted chunk its candidate table; of a refusal that another family may heal,
 * once, the event of attempt 2; the verdict's warnings, and those about the record
 * itself. Refused as a dead letter: "gate_request_malformed" (gates.md 1.1; a record of
 * local mode, which carries no request, too).
 */
#pragma once

#include "category.h"
#include "gate_config.h"
#include "record.h"
#include "serde.h"
#include "split_record.h"

/* What is made once, at start-up. */
struct gate_tools {
    struct gate_config config;
    struct categories categories;
    const struct serde *tables; /* of candidate_table: tells how large a record is */
};

enum err_kind gate_derive(const struct split_record *record,
                          const struct message *in,
                          const struct gate_tools *tools,
                          const struct provenance *base,
                          struct emits *out,
                          struct err *err);
