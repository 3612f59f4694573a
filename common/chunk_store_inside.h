/* SPDX-License-Identifier: Apache-2.0 */
/* What the two kinds of chunk store share. */
#pragma once

#include "chunk_store.h"

#include <stdbool.h>

struct chunk_store {
    char *root;   /* without a slash at its end */
    char *folder; /* what `root` names; NULL: it is s3:// */
    char *tmp_dir;
    const struct remote_settings *remote;
    struct slice bucket; /* of s3://, in `root` */
    char *prefix;        /* plain; of s3:// */
};

struct chunk_draft {
    struct chunk_store *store;
    enum chunk_place place;
    int fd;
    char *path; /* of file://; NULL: put */
};

/* "chunks", "traces" */
const char *chunk_draft_place(const struct chunk_draft *draft);
/* ERR_RETRY "store_unavailable", in the end "output_failed". */
enum err_kind
chunk_draft_away(const struct chunk_draft *draft, const char *why, struct err *err);
enum err_kind chunk_draft_no_memory(struct err *err);

enum err_kind chunk_file_open(struct chunk_draft *draft, struct err *err);
enum err_kind
chunk_file_put(struct chunk_draft *draft, const char *name, struct err *err);

enum err_kind chunk_s3_open(struct chunk_draft *draft, struct err *err);
enum err_kind chunk_s3_put(struct chunk_draft *draft, const char *name, struct err *err);
