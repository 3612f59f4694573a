/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes into a gzip file, without time and name: ISA-L's level 1, else zlib's. */
#pragma once

#include "err.h"
#include "slice.h"

struct pack;

/* Writes into `fd`, which is borrowed. NULL: out of memory. */
struct pack *pack_new(int fd);
void pack_free(struct pack *pack);
/* ERR_RECORD "output_failed" with what the system says. */
enum err_kind pack_add(struct pack *pack, struct slice piece, struct err *err);
/* Writes the end. */
enum err_kind pack_end(struct pack *pack, struct err *err);
