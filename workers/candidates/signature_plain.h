/* SPDX-License-Identifier: Apache-2.0 */
/* The quick way to a signature: one walk over texts that are written plainly. */
#pragma once

#include "signature.h"

enum plain {
    PLAIN_DONE,
    PLAIN_NOT, /* the texts need the reader of JSON */
    PLAIN_NO_MEMORY,
};

/* As signature_of(), of whole numbers and strings without escapes alone. `dims` is not
 * null. */
enum plain signature_plain(struct slice dims,
                           struct slice types,
                           struct arena *arena,
                           struct signature *ret_signature);
