/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of heddle-split, and what is opened once for all events. */
#pragma once

#include "split_event.h"
#include "worker.h"

struct split_worker_settings {
    struct split_settings split;
    const char *store;
    int64_t jobs;
    int64_t job_deadline_ms;
};

extern struct split_worker_settings split_worker_settings;
extern const struct option split_worker_options[];
extern const size_t split_worker_n_options;

/*
 * Opens a struct splitter (split_event.h) as *ret_state. ERR_FATAL EXIT_CONFIG
 * "bad_value" without a store.
 */
enum err_kind split_worker_open(const struct worker_context *context,
                                void **ret_state,
                                struct err *err);
void split_worker_close(void *state);
