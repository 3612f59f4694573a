/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on the version of librdkafka: the one place that asks for it. The floor
 * is 2.0.2; what a newer library does better is switched on here, what an older one does
 * wrong is worked around by who asks kafka_has_defect(). Versions are as
 * rd_kafka_version() has them at run time, 0xMMmmrrxx.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A property and the value we give it. */
struct kafka_property {
    const char *name;
    const char *value;
};

enum kafka_role {
    KAFKA_CONSUMES,  /* fetches: group consumers and readers */
    KAFKA_TRANSACTS, /* a producer with transactions */
    KAFKA_PRODUCES,  /* without transactions; admin calls, too */
};

/* Properties of a role, the last one with a NULL name included. */
enum { KAFKA_TUNING_MAX = 8 };

/*
 * The defaults of `role` on this library, ended by a NULL name; the user's own properties
 * come after them. Returns how many.
 */
size_t kafka_tuning(int version,
                    enum kafka_role role,
                    struct kafka_property ret[static KAFKA_TUNING_MAX]);

enum kafka_defect {
    /* Kafka 4 refuses its SCRAM logins: the client's nonce is sent twice. */
    KAFKA_DEFECT_SCRAM,
    /* Closing a cooperative-sticky consumer before its first assignment crashes or hangs.
     */
    KAFKA_DEFECT_EARLY_CLOSE,
};

bool kafka_has_defect(int version, enum kafka_defect defect);
