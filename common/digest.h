/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of bytes: SHA-256 and its hexadecimal text. */
#pragma once

#include "slice.h"

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, DIGEST_HEX = 65 }; /* 64 digits and the terminator */

void digest_sha256(struct slice data, uint8_t ret_digest[DIGEST_BYTES]);
/* Lower-case hexadecimal text of SHA-256(data), terminated. */
void digest_hex(struct slice data, char ret_hex[DIGEST_HEX]);
