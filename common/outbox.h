/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a derivation emits, as bytes: every record is encoded and held against the limit
 * of its topic before the first one is produced, so that a record that can't be sent
 * never leaves half of its input's results behind.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "record.h"
#include "serde.h"

/* An encoded record; borrows from the outbox and from the emits. */
struct encoded {
    const char *topic;
    struct slice key;
    struct slice value; /* data NULL: a tombstone */
    int64_t timestamp_ms;
    const struct emit *from;
};

struct outbox;

/*
 * `source` may be NULL; it is copied. One that gives ids is asked for the id of each type
 * at its first record, under the subject TOPIC-value.
 */
struct outbox *outbox_new(const struct schema_source *source, struct err *err);
void outbox_free(struct outbox *outbox);
/*
 * Encodes all of `emits`. ERR_RECORD "record_too_large", "body_invalid" (stage emit);
 * ERR_RETRY while an id can't be had; ERR_FATAL. The records are valid until the next
 * call.
 */
enum err_kind outbox_encode(struct outbox *outbox,
                            const struct emits *emits,
                            const struct encoded **ret_records,
                            size_t *ret_n,
                            struct err *err);
/* The serde of a type, made at its first use. NULL with `err`. Borrowed. */
struct serde *
outbox_serde(struct outbox *outbox, const struct record_type *type, struct err *err);

/* Bytes that a record of this content takes on the wire, at most, before compression. */
size_t record_size(struct slice key, struct slice value, size_t headers_bytes);
/* ERR_RECORD "record_too_large" when `size` is above the topic's maximum. */
enum err_kind record_check_size(const char *topic, size_t size, struct err *err);
