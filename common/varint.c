/* SPDX-License-Identifier: Apache-2.0 */
/* Long and damaged varints. */
#include "varint.h"

const char *
varint_get_slow(const char *at, const char *end, int64_t *ret_value)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
        uint64_t byte = (unsigned char)*at++;
        if (shift == 63 && byte > 1)
            return NULL;
        bits |= (byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret_value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return at;
        }
    }
    return NULL;
}
