/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several equal processes on this host this one is (events.md 9): a lock file in
 * the state folder is held while it runs, so two never carry one name.
 */
#pragma once

#include "err.h"

struct instance;

/*
 * Takes the name `wanted`, or, when it is NULL, the host's name with the first number
 * that is free, among the processes of `worker` in `group`. ERR_FATAL EXIT_CONFIG
 * "instance_taken" naming the holder's process, "state_dir_unusable".
 */
struct instance *instance_take(const char *state_dir,
                               const char *worker,
                               const char *group,
                               const char *wanted,
                               struct err *err);
/* Gives the name back. */
void instance_release(struct instance *instance);
/* "heddle-WORKER-GROUP-INSTANCE", for client.id and group.instance.id. Borrowed. */
const char *instance_id(const struct instance *instance);
