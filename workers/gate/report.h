/* SPDX-License-Identifier: Apache-2.0 */
/* A split judged to the end of its retry, for a person: verdicts, table, what is odd. */
#pragma once

#include "decide.h"
#include "impossible.h"
#include "table.h"

enum { REPORT_ATTEMPTS = 2 };

struct report_case {
    struct gate_request request;
    struct gate_split split;
    struct json_value chunks; /* of the split record; JSON_NONE: there are no rows */
    struct note_list notes;   /* beside the verdict: a framework that was overridden */
};

struct report_attempt {
    struct gate_request request;
    struct gate_answer answer;
    char dead_letter[ERR_CODE_BYTES]; /* empty: there is an answer */
    char reason[ERR_MSG_BYTES];       /* of the dead letter */
};

struct report {
    const struct report_case *given;
    struct report_attempt attempts[REPORT_ATTEMPTS];
    size_t n_attempts;
    bool has_table;
    struct kernel_table table;
    const struct impossible *impossible;
    size_t n_impossible;
};

/* Judges. Everything lies in `arena` or in the case. ERR_FATAL "out_of_memory". */
enum err_kind report_make(const struct report_case *given,
                          const struct gate_config *config,
                          struct arena *arena,
                          struct report *ret_report,
                          struct err *err);
/* The last attempt was accepted. */
bool report_accepted(const struct report *report);
/* One document: gate_input, verdicts, table; `warnings` where something is odd. */
void report_write_json(const struct report *report, struct buf *out);
/* Lines for a terminal. */
void report_write_text(const struct report *report, struct buf *out);
/* The codes of a verdict that suppress candidates (struct slice), when it says so. */
bool report_suppressing(const struct gate_answer *answer,
                        struct arena *arena,
                        struct list *ret_codes);
