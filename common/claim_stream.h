/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim that is too large for memory, read from its start as often as needed. file://
 * is read in place, its digest taken while the first pass reads; http(s):// and s3:// are
 * spooled to a file without a name first, and verified there.
 *
 *   claim_stream_open()      spools, or opens the file
 *   first pass               claim_stream_rewind(), claim_stream_read()
 *   claim_stream_verify()    before anything that was read is believed
 *   second pass              claim_stream_rewind(), claim_stream_read()
 *   claim_stream_check()     nothing changed meanwhile
 *
 * Errors as claim.h says. One thread reads at a time; the others may be called meanwhile.
 */
#pragma once

#include "claim.h"

struct claim_stream;

/* Borrows all of it for the stream's life. NULL: out of memory. */
struct claim_stream *claim_stream_new(const struct claim_limits *limits,
                                      const struct claim *claim,
                                      const char *part);
/* Takes NULL. */
void claim_stream_free(struct claim_stream *stream);

/*
 * Further: ERR_RECORD "trace_too_large" for a claim that had to be spooled and is above
 * `limits->max_spool_bytes`. A file of another size than claimed is "claim_mismatch"
 * here.
 */
enum err_kind claim_stream_open(struct claim_stream *stream, struct err *err);

/* These two fit struct split_source; `state` is the stream. */
enum err_kind claim_stream_rewind(void *state, struct err *err);
enum err_kind
claim_stream_read(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err);

/*
 * Size and digest of all bytes, those that nobody has read included, against the claim:
 * ERR_RECORD "claim_mismatch". Cheap when the pass read all of them. After a change of
 * the file since the first pass: ERR_RETRY "trace_changed", finally "claim_unavailable".
 */
enum err_kind claim_stream_verify(struct claim_stream *stream, struct err *err);
/*
 * At the end of the last pass: ERR_RETRY "trace_changed" when the file is not what it was
 * when the pass began, or was another one then and its digest is wrong.
 */
enum err_kind claim_stream_check(struct claim_stream *stream, struct err *err);

/* What lies there, for the refusal claim_mismatch. */
struct claim_found {
    bool has_size;
    int64_t size;
    char sha256[DIGEST_HEX]; /* "": not known */
};
const struct claim_found *claim_stream_found(const struct claim_stream *stream);
