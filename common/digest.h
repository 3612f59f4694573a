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

/* SHA-256 of bytes that come in pieces. */
struct digest;

/* NULL when there is no memory. */
struct digest *digest_new(void);
void digest_free(struct digest *digest);
void digest_add(struct digest *digest, struct slice piece);
/* Ends it: the text as digest_hex writes it. The digest may only be freed then. */
void digest_end(struct digest *digest, char ret_hex[DIGEST_HEX]);
/* The same, but the digest itself. */
void digest_end_bytes(struct digest *digest, uint8_t ret_digest[DIGEST_BYTES]);
