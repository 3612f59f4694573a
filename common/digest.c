/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by libcrypto. */
/* The one-call forms of OpenSSL 3 look their algorithm up under a lock each time. */
#define OPENSSL_API_COMPAT 10100

#include "digest.h"

#include <endian.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

void
digest_sha256(struct slice data, uint8_t ret_digest[DIGEST_BYTES])
{
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, data.data, data.len);
    SHA256_Final(ret_digest, &context);
}

/* The eight digits of four bytes, the first digit in the lowest byte of the word. */
static uint64_t
eight_digits(uint32_t bytes)
{
    uint64_t nibbles = bytes;
    nibbles = (nibbles << 16 | nibbles) & UINT64_C(0x0000FFFF0000FFFF);
    nibbles = (nibbles << 8 | nibbles) & UINT64_C(0x00FF00FF00FF00FF);
    nibbles = (nibbles >> 4 & UINT64_C(0x000F000F000F000F)) |
              (nibbles << 8 & UINT64_C(0x0F000F000F000F00));
    uint64_t letters =
        (nibbles + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return nibbles + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

static void
write_hex(const uint8_t digest[DIGEST_BYTES], char ret_hex[DIGEST_HEX])
{
    for (size_t i = 0; i < DIGEST_BYTES; i += 4) {
        uint32_t bytes;
        memcpy(&bytes, digest + i, sizeof bytes);
        uint64_t digits = htole64(eight_digits(le32toh(bytes)));
        memcpy(ret_hex + 2 * i, &digits, sizeof digits);
    }
    ret_hex[DIGEST_HEX - 1] = '\0';
}

void
digest_hex(struct slice data, char ret_hex[DIGEST_HEX])
{
    uint8_t digest[DIGEST_BYTES];
    digest_sha256(data, digest);
    write_hex(digest, ret_hex);
}

struct digest {
    SHA256_CTX context;
};

struct digest *
digest_new(void)
{
    struct digest *digest = malloc(sizeof *digest);
    if (digest)
        SHA256_Init(&digest->context);
    return digest;
}

void
digest_free(struct digest *digest)
{
    free(digest);
}

void
digest_add(struct digest *digest, struct slice piece)
{
    SHA256_Update(&digest->context, piece.data, piece.len);
}

void
digest_end_bytes(struct digest *digest, uint8_t ret_digest[DIGEST_BYTES])
{
    memset(ret_digest, 0, DIGEST_BYTES);
    SHA256_Final(ret_digest, &digest->context);
}

void
digest_end(struct digest *digest, char ret_hex[DIGEST_HEX])
{
    uint8_t bytes[DIGEST_BYTES];
    digest_end_bytes(digest, bytes);
    write_hex(bytes, ret_hex);
}
