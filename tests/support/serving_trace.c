/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of a decoding server that repeats its step. */
#include "serving_trace.h"

#include <stdio.h>

#include "unit.h"

static void
add_event(struct buf *out,
          const char *category,
          const char *name,
          int thread,
          long ts,
          int dur,
          long correlation)
{
    buf_addf(out,
             "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,"
             "\"ts\":%ld,\"dur\":%d,\"args\":{",
             out->data[out->len - 1] == '[' ? "" : ",\n", category, name, thread, ts,
             dur);
    if (correlation)
        buf_addf(out, "\"correlation\":%ld", correlation);
    buf_add_str(out, "}}");
}

void
serving_trace_make(struct buf *out, int steps, int launches)
{
    char name[64];
    buf_init(out, SIZE_MAX);
    buf_add_str(out, "{\"schemaVersion\":1,\"traceEvents\":[");
    for (int i = 0; i < steps; i++) {
        long at = (long)i * launches * 20;
        add_event(out, "user_annotation", "execute_context_0(0)_generation_8(8)", 1, at,
                  launches * 18, 0);
        for (int k = 0; k < launches; k++) {
            long id = (long)i * launches + k + 1;
            snprintf(name, sizeof name, "gemm_%d", k % 17);
            add_event(out, "cuda_runtime", "cudaLaunchKernel", 1, at + k * 16L, 2, id);
            add_event(out, "kernel", name, 7, at + k * 16L + 4, 12, id);
        }
    }
    buf_add_str(out, "]}");
    assert_false(out->failed);
}
