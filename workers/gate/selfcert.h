/* SPDX-License-Identifier: Apache-2.0 */
/* Can a capture be analysed, and would the answer be true (gates.md 9)? Advisory. */
#pragma once

#include "input.h"

struct selfcert_facts {
    struct slice framework;
    enum known_bool has_trace; /* unknown: there is one */
    struct amount kernel_count;
    struct amount stream_errors;
    bool truncated;
    struct amount attributed_pct;
    enum known_bool graph_under_recorded;
    struct amount resolver_kernel_count;
    enum known_bool resolver_opens_other_file;
    enum known_bool selected_capture_fragment;
};

enum { SELFCERT_REASONS = 4, SELFCERT_WARNINGS = 2, SELFCERT_ROUTES = 2 };

struct selfcert_answer {
    enum known_bool has_steady_state_semantics;
    struct slice blocking_reasons[SELFCERT_REASONS];
    size_t n_reasons;
    struct slice usable_by[SELFCERT_ROUTES];
    size_t n_routes;
    struct slice warnings[SELFCERT_WARNINGS];
    size_t n_warnings;
    bool decode_conclusions_valid;
    bool silently_wrong;
    const char *severity; /* static */
};

void selfcert_certify(const struct selfcert_facts *facts,
                      struct selfcert_answer *ret_answer);
