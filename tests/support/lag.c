/* SPDX-License-Identifier: Apache-2.0 */
/* The lag of a group, counted and waited for. */
#include "lag.h"

#include <unistd.h>

#include "process.h"

#include "unit.h"

enum { LOOK_US = 20000 }; /* between two looks, not for luck */

int64_t
lag_of_group(const struct kafka_settings *settings,
             const char *group,
             const char *topic,
             int timeout_ms)
{
    struct group_lag *lags = NULL;
    struct err err = {0};
    size_t n = 0;
    int64_t lag = 0;
    if (kafka_group_lag(settings, group, topic, timeout_ms, &lags, &n, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++)
        lag += lags[i].lag;
    free(lags);
    return lag;
}

void
lag_wait_none(const struct kafka_settings *settings,
              const char *group,
              const char *topic,
              int timeout_ms)
{
    long long deadline_ms = process_now_ms() + timeout_ms;
    int64_t lag;
    while ((lag = lag_of_group(settings, group, topic, timeout_ms)) > 0) {
        if (process_now_ms() > deadline_ms)
            fail_msg("%lld records of %s are still waiting", (long long)lag, topic);
        usleep(LOOK_US);
    }
}
