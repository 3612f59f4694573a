/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record type on the wire: framing + codec + the plans of the writers met so far.
 * Without a registry it writes single-object encoding and knows the writers' schemas it
 * was given; with one (a schema source) it writes the 5-byte header and asks for ids.
 */
#pragma once

#include "arena.h"
#include "buf.h"
#include "codec.h"
#include "err.h"
#include "framing.h"

/*
 * Where unknown schemas come from: the registry client's place. `by_id` gives the schema
 * text of an id, borrowed until the next call: ERR_RETRY while the registry can't answer,
 * ERR_RECORD "schema_unknown" when it denies the id.
 */
struct schema_source {
    enum err_kind (*by_id)(void *state,
                           uint32_t id,
                           struct slice *ret_text,
                           struct err *err);
    void *state;
    /*
     * The id to write our own schema `text` with on `subject`; NULL: none, values say
     * their schema by fingerprint. ERR_RETRY while the registry can't answer.
     */
    enum err_kind (*id_of)(void *state,
                           const char *subject,
                           struct slice text,
                           uint32_t *ret_id,
                           struct err *err);
};

struct serde;

/* Ceilings of what one serde keeps. */
enum {
    SERDE_MAX_WRITERS = 256, /* schemas given by text; more are refused */
    SERDE_MAX_IDS = 1024,    /* ids met; beyond, the one kept longest makes room */
};

/*
 * It knows its own schema as a writer's. `source` may be NULL; it is copied. NULL with
 * the errors of codec_new().
 */
struct serde *serde_new(const struct record_type *type,
                        const struct schema_source *source,
                        struct err *err);
void serde_free(struct serde *serde);
const struct codec *serde_codec(const struct serde *serde);
/*
 * A writer's schema by its text (a released version), to be known by its fingerprint; one
 * known already is fine. ERR_RECORD "schema_invalid", "schema_incompatible"; ERR_FATAL
 * "schema_limit" above SERDE_MAX_WRITERS, "schema_collision" when another schema has the
 * same CRC-64.
 */
enum err_kind serde_add_writer(struct serde *serde, struct slice avsc, struct err *err);
/* Encode with the 5-byte header and this id from now on, and know it as our own. */
void serde_use_id(struct serde *serde, uint32_t schema_id);

/*
 * Frame and body, appended to `out`; codes of codec_encode(), stage "emit". After a
 * failure `out` is as long as before.
 */
enum err_kind serde_encode(const struct serde *serde,
                           const void *value,
                           struct buf *out,
                           struct err *err);
/*
 * Frame, plan (of an id: made at its first record, then kept, as is
 * "schema_incompatible"), body. Codes of framing.h, stage "frame", ERR_RECORD
 * "schema_unknown" with the fingerprint or id among them; codes of schema.h and codec.h,
 * stage "decode". The source's ERR_RETRY is passed on and nothing is kept.
 */
enum err_kind serde_decode(struct serde *serde,
                           struct slice value,
                           struct arena *arena,
                           void *ret_value,
                           struct err *err);
