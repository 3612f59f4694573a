/* SPDX-License-Identifier: Apache-2.0 */
/* What a group has yet to commit of a topic; for tests of cmocka. */
#pragma once

#include "kafka.h"

/* Records of all partitions; fails the test when they can't be counted within
 * `timeout_ms`. */
int64_t lag_of_group(const struct kafka_settings *settings,
                     const char *group,
                     const char *topic,
                     int timeout_ms);
/* Waits until there are none; fails the test after `timeout_ms`. */
void lag_wait_none(const struct kafka_settings *settings,
                   const char *group,
                   const char *topic,
                   int timeout_ms);
