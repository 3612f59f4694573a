/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of a JSON document: private to json.c (reads), json_value.c (looks at) and
 * json_write.c (measures and writes). A container is followed by its items; a member is
 * its key's node, then its value's.
 */
#pragma once

#include "json.h"

#include <stdint.h>

#define NO_NODE UINT32_MAX

enum node_type {
    NODE_NULL = 1,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_SPECIAL,
    NODE_STRING,
    NODE_ARRAY,
    NODE_OBJECT,
};

enum node_flag {
    NODE_PLAIN = 1 << 0,    /* string: its line form is itself between quotes */
    NODE_KEY = 1 << 1,      /* string: a key */
    NODE_DEAD = 1 << 2,     /* key: a later member has the same */
    NODE_SORTED = 1 << 3,   /* object: its keys rise */
    NODE_HAS_DEAD = 1 << 4, /* object: it has a dead key */
};

struct json_node {
    uint32_t off;  /* of the text; container: its depth */
    uint32_t len;  /* of the text in bytes; container: its live items or members */
    uint32_t next; /* the node behind this value; of a key: its value */
    uint8_t type;  /* enum node_type */
    uint8_t flags; /* enum node_flag */
};
