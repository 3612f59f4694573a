/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a Kafka value. */
#include "framing.h"

enum {
    MAGIC_CONFLUENT = 0x00,
    MAGIC_CONFLUENT_GUID = 0x01,
    MAGIC_SINGLE_OBJECT_0 = 0xC3,
    MAGIC_SINGLE_OBJECT_1 = 0x01,
    SINGLE_OBJECT_BYTES = 10,
    CONFLUENT_BYTES = 5,
};

static uint8_t
byte_at(struct slice value, size_t i)
{
    return (uint8_t)value.data[i];
}

static enum err_kind
cut(struct slice value, size_t wanted, struct err *err)
{
    return err_set(err, ERR_RECORD, "body_truncated",
                   "value of %zu bytes ends inside its header of %zu", value.len, wanted);
}

static enum err_kind
unknown(struct slice value, struct err *err)
{
    return err_set(err, ERR_RECORD, "magic_unknown",
                   "value begins with 0x%02x%s; Avro single-object encoding begins with "
                   "0xc3 0x01, Confluent's with 0x00",
                   byte_at(value, 0),
                   byte_at(value, 0) == MAGIC_SINGLE_OBJECT_0 ? ", not followed by 0x01"
                                                              : "");
}

static enum err_kind
single_object_read(struct slice value, struct frame *ret_frame, struct err *err)
{
    if (value.len > 1 && byte_at(value, 1) != MAGIC_SINGLE_OBJECT_1)
        return unknown(value, err);
    if (value.len < SINGLE_OBJECT_BYTES)
        return cut(value, SINGLE_OBJECT_BYTES, err);
    uint64_t fingerprint = 0;
    for (size_t i = SINGLE_OBJECT_BYTES; i-- > 2;)
        fingerprint = fingerprint << 8 | byte_at(value, i);
    *ret_frame = (struct frame){
        .kind = FRAME_SINGLE_OBJECT,
        .fingerprint = fingerprint,
        .body = {value.data + SINGLE_OBJECT_BYTES, value.len - SINGLE_OBJECT_BYTES},
    };
    return ERR_OK;
}

static enum err_kind
confluent_read(struct slice value, struct frame *ret_frame, struct err *err)
{
    if (value.len < CONFLUENT_BYTES)
        return cut(value, CONFLUENT_BYTES, err);
    uint32_t id = 0;
    for (size_t i = 1; i < CONFLUENT_BYTES; i++)
        id = id << 8 | byte_at(value, i);
    *ret_frame = (struct frame){
        .kind = FRAME_CONFLUENT,
        .schema_id = id,
        .body = {value.data + CONFLUENT_BYTES, value.len - CONFLUENT_BYTES},
    };
    return ERR_OK;
}

enum err_kind
frame_read(struct slice value, struct frame *ret_frame, struct err *err)
{
    if (!value.data)
        return err_set(err, ERR_RECORD, "value_null",
                       "record has no value (a tombstone), and an event was expected");
    if (value.len == 0)
        return err_set(err, ERR_RECORD, "value_empty",
                       "value has no bytes, and an event was expected");
    switch (byte_at(value, 0)) {
    case MAGIC_SINGLE_OBJECT_0:
        return single_object_read(value, ret_frame, err);
    case MAGIC_CONFLUENT:
        return confluent_read(value, ret_frame, err);
    case MAGIC_CONFLUENT_GUID:
        return err_set(err, ERR_RECORD, "schema_guid_unsupported",
                       "value names its schema by a GUID (first byte 0x01); have the "
                       "producer write schema ids (first byte 0x00)");
    default:
        return unknown(value, err);
    }
}

void
frame_write_single_object(struct buf *out, uint64_t fingerprint)
{
    char header[SINGLE_OBJECT_BYTES] = {(char)MAGIC_SINGLE_OBJECT_0,
                                        (char)MAGIC_SINGLE_OBJECT_1};
    for (size_t i = 2; i < sizeof header; i++, fingerprint >>= 8)
        header[i] = (char)(fingerprint & 0xFF);
    buf_add(out, header, sizeof header);
}

void
frame_write_confluent(struct buf *out, uint32_t schema_id)
{
    char header[CONFLUENT_BYTES] = {MAGIC_CONFLUENT};
    for (size_t i = CONFLUENT_BYTES; i-- > 1; schema_id >>= 8)
        header[i] = (char)(schema_id & 0xFF);
    buf_add(out, header, sizeof header);
}
