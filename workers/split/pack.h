/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes into gzip, without time and name: ISA-L's level 1, else zlib's. */
#pragma once

#include "err.h"
#include "slice.h"

struct pack;

/* Takes the packed bytes; an error ends the file. */
typedef enum err_kind pack_write_fn(void *state, struct slice bytes, struct err *err);

/* NULL: out of memory. */
struct pack *pack_new(pack_write_fn *write, void *state);
void pack_free(struct pack *pack);
/* The writer's errors; ERR_RECORD "output_failed" of the library. */
enum err_kind pack_add(struct pack *pack, struct slice piece, struct err *err);
/* Writes the end. */
enum err_kind pack_end(struct pack *pack, struct err *err);
