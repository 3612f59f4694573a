/* SPDX-License-Identifier: Apache-2.0 */
/* Raw deflate, decoded by one of two libraries behind the same three calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inflate_result {
    INFLATE_GOING,  /* wants more input or more room */
    INFLATE_END,    /* the stream is complete; `in` is what stands behind it */
    INFLATE_BROKEN, /* it is none; what was decoded before is in `out` */
    INFLATE_NO_MEMORY,
};

/* Both runs move on with what was taken and given. */
struct inflate_io {
    const uint8_t *in; /* the 8 bytes before it must stay what they were */
    size_t in_len;
    uint8_t *out;
    size_t out_len;
};

/* A decoder of one library. `crc` is CRC-32 over all that was given since the reset. */
struct inflate_library {
    void *(*create)(void);
    void (*destroy)(void *decoder);
    enum inflate_result (*reset)(void *decoder);
    enum inflate_result (*run)(void *decoder, struct inflate_io *io);
    uint32_t (*crc)(const void *decoder);
};

extern const struct inflate_library inflate_zlib;
#ifdef HEDDLE_ISAL
extern const struct inflate_library inflate_isal;
#endif
