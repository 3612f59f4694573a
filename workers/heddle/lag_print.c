/* SPDX-License-Identifier: Apache-2.0 */
/* The lag of a group, laid out. */
#include "lag_print.h"

#include <inttypes.h>

#include "line_form.h"

static const char *
state_of(const struct group_lag *lag)
{
    if (lag->committed < 0)
        return "no_commit";
    if (lag->committed < lag->start)
        return "gone";
    return lag->lag > 0 ? "behind" : "ok";
}

static int64_t
sum_of(const struct group_lag *lags, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += lags[i].lag;
    return sum;
}

void
lag_table(const char *group,
          const char *topic,
          const struct group_lag *lags,
          size_t n,
          struct buf *out)
{
    buf_addf(out, "group %s, topic %s\n", group, topic);
    buf_addf(out, "%9s %14s %12s %12s %12s\n", "partition", "committed", "end",
             "log start", "lag");
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, "%9" PRId32 " ", lags[i].partition);
        if (lags[i].committed < 0)
            buf_addf(out, "%14s", "no commit yet");
        else
            buf_addf(out, "%14" PRId64, lags[i].committed);
        buf_addf(out, " %12" PRId64 " %12" PRId64 " %12" PRId64 "%s\n", lags[i].end,
                 lags[i].start, lags[i].lag,
                 lags[i].committed >= 0 && lags[i].committed < lags[i].start
                     ? "  records below the log start are gone"
                     : "");
    }
    buf_addf(out, "%9s %53" PRId64 "\n", "sum", sum_of(lags, n));
}

void
lag_json(const char *group,
         const char *topic,
         const struct group_lag *lags,
         size_t n,
         struct buf *out)
{
    buf_add_str(out, "{\"group\": ");
    line_form_string(out, slice_of(group));
    buf_add_str(out, ", \"topic\": ");
    line_form_string(out, slice_of(topic));
    buf_addf(out, ", \"lag\": %" PRId64 ", \"partitions\": [", sum_of(lags, n));
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, "%s{\"partition\": %" PRId32 ", \"state\": \"%s\", \"committed\": ",
                 i ? ", " : "", lags[i].partition, state_of(&lags[i]));
        if (lags[i].committed < 0)
            buf_add_str(out, "null");
        else
            buf_addf(out, "%" PRId64, lags[i].committed);
        buf_addf(out,
                 ", \"start\": %" PRId64 ", \"end\": %" PRId64 ", \"lag\": %" PRId64 "}",
                 lags[i].start, lags[i].end, lags[i].lag);
    }
    buf_add_str(out, "]}\n");
}
