/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a Kafka value says which schema wrote it.
 *
 * | first bytes | framing              | then                                        |
 * |-------------|----------------------|---------------------------------------------|
 * | C3 01       | Avro single-object   | CRC-64-AVRO of the schema, 8 bytes, little- |
 * |             |                      | endian                                      |
 * | 00          | Confluent, Apicurio  | id, 4 bytes, big-endian                     |
 * | 01          | Confluent, by GUID   | refused: "schema_guid_unsupported"          |
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "slice.h"

#include <stdint.h>

enum frame_kind {
    FRAME_SINGLE_OBJECT = 1,
    FRAME_CONFLUENT,
};

struct frame {
    enum frame_kind kind;
    uint64_t fingerprint; /* SINGLE_OBJECT: CRC-64-AVRO of the writer's schema */
    uint32_t schema_id;   /* CONFLUENT */
    struct slice body;    /* borrowed from the value */
};

/*
 * Reads the header. ERR_RECORD "value_null", "value_empty", "magic_unknown",
 * "schema_guid_unsupported", or "body_truncated" when the header itself is cut.
 */
enum err_kind frame_read(struct slice value, struct frame *ret_frame, struct err *err);
void frame_write_single_object(struct buf *out, uint64_t fingerprint);
void frame_write_confluent(struct buf *out, uint32_t schema_id);
