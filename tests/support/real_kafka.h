/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real Apache Kafka for one test program (ops/kafka-local): about ten seconds to
 * start, so a program starts one and its tests use topics of their own names.
 *
 *     int
 *     main(void)
 *     {
 *         int status = 0;
 *         if (!real_kafka_here("kafka.topics", &status))
 *             return status;
 *         ...cmocka_run_group_tests(tests, open_kafka, close_kafka)
 */
#pragma once

#include "local_server.h"

struct real_kafka {
    struct local_server server;
    char bootstrap[64]; /* no login, may do everything */
    char secure[64];    /* SASL_SSL; "" without `secure` */
    char ca_file[256];
};

/* See local_server_here(). `name` is the test's, as ctest has it. */
bool real_kafka_here(const char *name, int *ret_status);
/*
 * Starts it. With `secure` there is a SASL_SSL listener besides: PLAIN and SCRAM-SHA-256,
 * users admin (all rights), worker and reader (none until an ACL says so), passwords
 * NAME-secret. False with a line on stderr.
 */
bool real_kafka_start(struct real_kafka *kafka, bool secure);
/* Starts it and makes Heddle's topics. */
bool real_kafka_start_with_topics(struct real_kafka *kafka, bool secure);
/* kill -9, as a crash; the data stays. */
bool real_kafka_kill(struct real_kafka *kafka);
/* Asks it to end, and waits for that; the data stays. */
bool real_kafka_end(struct real_kafka *kafka);
/* Stops its process, as on a machine that hangs: connections stay, nothing answers. */
bool real_kafka_hold(const struct real_kafka *kafka);
/* Lets it go on. */
bool real_kafka_release(const struct real_kafka *kafka);
/* Starts it again, on the same ports. */
bool real_kafka_restart(struct real_kafka *kafka);
/* Runs one of the command-line tools in Kafka's jars, as
 * `org.apache.kafka.tools.AclCommand`, with `arguments` (NULL-terminated) after
 * `--bootstrap-server`. */
bool real_kafka_tool(const struct real_kafka *kafka,
                     const char *class_name,
                     const char *const *arguments);
/* Ends it and removes its data. Safe to call twice. */
void real_kafka_stop(struct real_kafka *kafka);
