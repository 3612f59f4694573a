/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunk store (splitting.md 11.6): objects under names that follow from their
 * content, written once and whole. `chunks/SHA256.json.gz` are chunks, `traces/SHA256`
 * the traces that came inline. A store may be used from several threads, a draft from
 * one.
 *
 * Whatever keeps an object from being written is ERR_RETRY "store_unavailable", which is
 * "output_failed" in the end.
 */
#pragma once

#include "err.h"
#include "remote.h"
#include "slice.h"

struct chunk_store;

struct chunk_store_settings {
    const char *url;     /* file:///DIR or s3://BUCKET[/PREFIX]: the root of all names */
    const char *tmp_dir; /* of what goes to s3://; NULL: $TMPDIR, else /var/tmp */
    const struct remote_settings
        *remote; /* borrowed for the store's life; NULL: no s3:// */
};

/*
 * Looks at the address only, reaches for nothing; DIR itself is never made, so that one
 * that is not mounted is noticed. Copies all but `remote`. ERR_FATAL EXIT_CONFIG
 * "bad_value".
 */
enum err_kind chunk_store_new(const struct chunk_store_settings *settings,
                              struct chunk_store **ret_store,
                              struct err *err);
/* Takes NULL. All drafts are freed before. */
void chunk_store_free(struct chunk_store *store);

/* The store's root, which names are appended to with a "/" in front. */
const char *chunk_store_root(const struct chunk_store *store);
/* The folder of a file:// store, which counts as one of claim.roots; else NULL. */
const char *chunk_store_folder(const struct chunk_store *store);

enum chunk_place {
    CHUNK_PLACE_CHUNKS, /* "chunks" */
    CHUNK_PLACE_TRACES, /* "traces" */
};

/* An object that is being written. Nobody sees it before it is put. */
struct chunk_draft;

enum err_kind chunk_draft_new(struct chunk_store *store,
                              enum chunk_place place,
                              struct chunk_draft **ret_draft,
                              struct err *err);
/* Deletes what was not put. Takes NULL. */
void chunk_draft_free(struct chunk_draft *draft);
enum err_kind
chunk_draft_add(struct chunk_draft *draft, struct slice piece, struct err *err);
/*
 * Makes the object visible as `name` ("SHA256.json.gz"), whole and lasting; where the
 * name exists already that object is kept and this one dropped. Once for a draft.
 */
enum err_kind
chunk_draft_put(struct chunk_draft *draft, const char *name, struct err *err);
