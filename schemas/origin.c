/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the records that every event and every derived record carries. */
#include "origin.h"

#include "digest.h"

static const struct field origin_fields[] = {
    {.name = "event_id",
     .type = FIELD_STRING,
     .offset = offsetof(struct origin, event_id)},
    {.name = "node", .type = FIELD_STRING, .offset = offsetof(struct origin, node)},
    {.name = "session", .type = FIELD_STRING, .offset = offsetof(struct origin, session)},
    {.name = "captured_at_us",
     .type = FIELD_LONG,
     .offset = offsetof(struct origin, captured_at_us)},
    {.name = "producer",
     .type = FIELD_STRING,
     .offset = offsetof(struct origin, producer)},
};

const struct record_type origin_type = {
    "heddle.v1.Origin", NULL, FIELD_ROWS(origin_fields), sizeof(struct origin), NULL,
};

static const struct field input_ref_fields[] = {
    {.name = "topic", .type = FIELD_STRING, .offset = offsetof(struct input_ref, topic)},
    {.name = "partition",
     .type = FIELD_INT,
     .offset = offsetof(struct input_ref, partition)},
    {.name = "offset", .type = FIELD_LONG, .offset = offsetof(struct input_ref, offset)},
    {.name = "sha256",
     .type = FIELD_STRING,
     .offset = offsetof(struct input_ref, sha256)},
};

const struct record_type input_ref_type = {
    "heddle.v1.InputRef",     NULL, FIELD_ROWS(input_ref_fields),
    sizeof(struct input_ref), NULL,
};

static const struct field fact_fields[] = {
    {.name = "subject", .type = FIELD_STRING, .offset = offsetof(struct fact, subject)},
    {.name = "outcome", .type = FIELD_STRING, .offset = offsetof(struct fact, outcome)},
    {.name = "sha256",
     .type = FIELD_STRING,
     .offset = offsetof(struct fact, sha256),
     .nullable = true},
    {.name = "code",
     .type = FIELD_STRING,
     .offset = offsetof(struct fact, code),
     .nullable = true},
};

static const struct record_type fact_type = {
    "heddle.v1.Fact", NULL, FIELD_ROWS(fact_fields), sizeof(struct fact), NULL,
};

static const struct field input_ref_item = {.type = FIELD_RECORD,
                                            .record = &input_ref_type};
static const struct field fact_item = {.type = FIELD_RECORD, .record = &fact_type};

static const struct field provenance_fields[] = {
    {.name = "inputs",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct provenance, inputs),
     .size = sizeof(struct input_ref),
     .of = &input_ref_item},
    {.name = "worker",
     .type = FIELD_STRING,
     .offset = offsetof(struct provenance, worker)},
    {.name = "version",
     .type = FIELD_STRING,
     .offset = offsetof(struct provenance, version)},
    {.name = "config_sha256",
     .type = FIELD_STRING,
     .offset = offsetof(struct provenance, config_sha256)},
    {.name = "generation",
     .type = FIELD_LONG,
     .offset = offsetof(struct provenance, generation)},
    {.name = "facts",
     .type = FIELD_ARRAY,
     .offset = offsetof(struct provenance, facts),
     .size = sizeof(struct fact),
     .of = &fact_item},
};

const struct record_type provenance_type = {
    "heddle.v1.Provenance",    NULL, FIELD_ROWS(provenance_fields),
    sizeof(struct provenance), NULL,
};

static const struct field claim_fields[] = {
    {.name = "uri", .type = FIELD_STRING, .offset = offsetof(struct claim, uri)},
    {.name = "size", .type = FIELD_LONG, .offset = offsetof(struct claim, size)},
    {.name = "sha256", .type = FIELD_STRING, .offset = offsetof(struct claim, sha256)},
};

static const struct record_type claim_type = {
    "heddle.v1.Claim", NULL, FIELD_ROWS(claim_fields), sizeof(struct claim), NULL,
};

#define NULL_BRANCH                                                                      \
    {                                                                                    \
        .type = FIELD_NULL, .tag = PAYLOAD_NONE                                          \
    }
#define BYTES_BRANCH                                                                     \
    {                                                                                    \
        .type = FIELD_BYTES, .offset = offsetof(struct payload, bytes),                  \
        .tag = PAYLOAD_INLINE                                                            \
    }
#define CLAIM_BRANCH                                                                     \
    {                                                                                    \
        .type = FIELD_RECORD, .offset = offsetof(struct payload, claim),                 \
        .record = &claim_type, .tag = PAYLOAD_CLAIM                                      \
    }

const struct field payload_branches[2] = {BYTES_BRANCH, CLAIM_BRANCH};
const struct field payload_or_null_branches[3] = {NULL_BRANCH, BYTES_BRANCH,
                                                  CLAIM_BRANCH};

enum err_kind
provenance_of(const struct provenance *base,
              const struct message *in,
              struct arena *arena,
              struct provenance *ret_provenance,
              struct err *err)
{
    struct input_ref *ref = arena_calloc(arena, 1, sizeof *ref);
    char *sha256 = arena_alloc(arena, DIGEST_HEX);
    if (!ref || !sha256)
        return err_no_memory(err, "the provenance of a record");
    digest_hex(in->value, sha256);
    *ref = (struct input_ref){
        .topic = slice_of(in->topic),
        .partition = in->partition,
        .offset = in->offset,
        .sha256 = {sha256, DIGEST_HEX - 1},
    };
    *ret_provenance = *base;
    ret_provenance->inputs = (struct list){ref, 1};
    return ERR_OK;
}
