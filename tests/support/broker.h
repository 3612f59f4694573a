/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded broker for one test program: on a free port, ended by its process id, and
 * by the kernel when the test program dies first.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct broker {
    pid_t pid;
    char bootstrap[64]; /* "127.0.0.1:41234" */
    int port;
};

/*
 * Starts it and waits until it serves. `port` 0: a free one. `extra_topics`
 * (NULL-terminated, may be NULL) are made beside Heddle's own. False with a line on
 * stderr when it does not come up.
 */
bool broker_start(struct broker *broker, int port, const char *const *extra_topics);
/* As broker_start(), with so many partitions in every topic. */
bool broker_start_sized(struct broker *broker, int port, int partitions);
/* Ends it and waits for its end. Safe to call twice. */
void broker_stop(struct broker *broker);
