/* SPDX-License-Identifier: Apache-2.0 */
/* How what lies behind http(s):// and s3:// is reached: settings [claim] and [s3]. */
#pragma once

#include <stdint.h>

/* Positions of the choices of s3.addressing. */
enum s3_addressing { S3_ADDRESSING_PATH, S3_ADDRESSING_VIRTUAL };

struct s3_settings {
    const char *endpoint; /* NULL: Amazon's in `region` */
    const char *region;
    const char *access_key; /* NULL: requests are not signed */
    const char *secret_key;
    const char *session_token; /* NULL: none */
    int64_t addressing;        /* enum s3_addressing */
};

struct remote_settings {
    const char *ca_file; /* PEM; NULL: the system's */
    const char *cert_file;
    const char *key_file;
    int64_t connect_timeout_ms;
    int64_t stall_timeout_ms; /* a transfer without progress */
    struct s3_settings s3;
};
