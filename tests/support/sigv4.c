/* SPDX-License-Identifier: Apache-2.0 */
/* Signature version 4, checked. */
#include "sigv4.h"

#include "digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 8192, FIELD_BYTES = 1024, MAC_BYTES = 32 };

/* What stands behind `name` in the authorization, up to a comma. */
static bool
field(const char *authorization, const char *name, char value[FIELD_BYTES])
{
    const char *begin = strstr(authorization, name);
    if (!begin)
        return false;
    begin += strlen(name);
    size_t len = strcspn(begin, ", ");
    snprintf(value, FIELD_BYTES, "%.*s", (int)len, begin);
    return len > 0;
}

/* METHOD, path, no query, the signed headers, their names, the digest of the body. */
static void
canonical(const struct sigv4_request *request, char *names, char text[TEXT_BYTES])
{
    const char *path = strchr(request->line, ' ');
    size_t n = (size_t)snprintf(text, TEXT_BYTES, "%.*s\n%s\n\n",
                                (int)(path - request->line), request->line, path + 1);
    char list[FIELD_BYTES];
    char *rest = NULL;
    snprintf(list, sizeof list, "%s", names);
    for (char *name = strtok_r(list, ";", &rest); name; name = strtok_r(NULL, ";", &rest))
        n += (size_t)snprintf(text + n, TEXT_BYTES - n, "%s:%s\n", name,
                              request->header(request->state, name));
    snprintf(text + n, TEXT_BYTES - n, "\n%s\n%s", names,
             request->header(request->state, "x-amz-content-sha256"));
}

static void
mac(const void *key, size_t key_len, const char *text, unsigned char out[MAC_BYTES])
{
    unsigned len = 0;
    HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, strlen(text), out,
         &len);
}

/* `scope` is DATE/REGION/SERVICE/aws4_request. */
static void
sign(const char *secret_key, const char *scope, const char *text, char hex[DIGEST_HEX])
{
    char first[FIELD_BYTES];
    char parts[FIELD_BYTES];
    unsigned char key[MAC_BYTES];
    unsigned char next[MAC_BYTES];
    char *rest = NULL;
    snprintf(first, sizeof first, "AWS4%s", secret_key);
    snprintf(parts, sizeof parts, "%s", scope);
    mac(first, strlen(first), strtok_r(parts, "/", &rest), key);
    for (char *part = strtok_r(NULL, "/", &rest); part;
         part = strtok_r(NULL, "/", &rest)) {
        mac(key, MAC_BYTES, part, next);
        memcpy(key, next, MAC_BYTES);
    }
    mac(key, MAC_BYTES, text, next);
    for (size_t i = 0; i < MAC_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", next[i]);
}

bool
sigv4_is_right(const struct sigv4_request *request, const char *secret_key)
{
    char credential[FIELD_BYTES];
    char names[FIELD_BYTES];
    char signature[FIELD_BYTES];
    char text[TEXT_BYTES];
    char digest[DIGEST_HEX];
    char expected[DIGEST_HEX];
    if (strncmp(request->authorization, "AWS4-HMAC-SHA256 ", 17) != 0 ||
        !field(request->authorization, "Credential=", credential) ||
        !field(request->authorization, "SignedHeaders=", names) ||
        !field(request->authorization, "Signature=", signature) ||
        !strchr(credential, '/'))
        return false;
    const char *scope = strchr(credential, '/') + 1;
    canonical(request, names, text);
    digest_hex(slice_of(text), digest);
    snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s\n%s",
             request->header(request->state, "x-amz-date"), scope, digest);
    sign(secret_key, scope, text, expected);
    return strcmp(expected, signature) == 0;
}
