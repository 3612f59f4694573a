/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by libcrypto. */
#include "digest.h"

#include <openssl/sha.h>

void
digest_sha256(struct slice data, uint8_t ret_digest[DIGEST_BYTES])
{
    SHA256((const unsigned char *)data.data, data.len, ret_digest);
}

void
digest_hex(struct slice data, char ret_hex[DIGEST_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[DIGEST_BYTES];
    digest_sha256(data, digest);
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 0xF];
    }
    ret_hex[2 * DIGEST_BYTES] = '\0';
}
