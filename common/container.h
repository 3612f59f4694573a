/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Avro object container files, read block by block: the bodies of their values, in the
 * writer's schema, for our own codec to decode. Wrapper of avro-c's container format.
 */
#pragma once

#include "cleanup.h"
#include "err.h"
#include "slice.h"

#include <stdint.h>

#define CONTAINER_MAGIC "Obj\x01"

struct container;

/* ERR_FATAL EXIT_CONFIG "input_unreadable" for what is no container, or whose schema our
 * own reader refuses (schema.h). */
struct container *container_open(const char *path, struct err *err);
void container_close(struct container *container);
/* The writer's schema and its CRC-64-AVRO. Borrowed. */
struct slice container_schema(const struct container *container);
uint64_t container_fingerprint(const struct container *container);
/* The next value's body, borrowed until the next call; a null slice at the end.
 * ERR_FATAL EXIT_CONFIG "input_unreadable". */
enum err_kind
container_next(struct container *container, struct slice *ret_body, struct err *err);

CLEANUP_DEFINE(struct container, container_close);
