/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a value: refused with a code, or a header that writes back the same. */
#include "framing.h"

#include "cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct slice value = {(const char *)data, len};
    struct frame frame;
    struct err err = {0};
    CLEANUP(buf_done) struct buf again = BUF_INIT;
    if (frame_read(value, &frame, &err)) {
        if (err.kind != ERR_RECORD || !err.code[0])
            abort();
        return 0;
    }
    if (frame.kind == FRAME_CONFLUENT)
        frame_write_confluent(&again, frame.schema_id);
    else
        frame_write_single_object(&again, frame.fingerprint);
    buf_add_slice(&again, frame.body);
    if (!slice_equal(buf_slice(&again), value))
        abort();
    return 0;
}
