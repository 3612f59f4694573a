/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the keys that Heddle uses a key is. */
#pragma once

#include "scan.h"

enum { SCAN_DEPTH = 256, SCAN_KEY_BYTES = 11 };

/* Where an object stands: decides which keys of it are fields. */
enum scan_level { LEVEL_OTHER, LEVEL_EVENT, LEVEL_ARGS };

#define SCAN_ARGS_FIELDS                                                                 \
    (((UINT32_C(1) << SCAN_KEYS) - 1) & ~((UINT32_C(2) << SCAN_ARGS) - 1))

static inline enum scan_key
scan_key_if(const char *text, const char *name, size_t len, enum scan_key key)
{
    return memcmp(text, name, len) == 0 ? key : SCAN_KEY_UNKNOWN;
}

static inline enum scan_key
scan_key_3(const char *text)
{
    switch (text[0]) {
    case 'c':
        return scan_key_if(text, "cat", 3, SCAN_CAT);
    case 'p':
        return scan_key_if(text, "pid", 3, SCAN_PID);
    case 't':
        return scan_key_if(text, "tid", 3, SCAN_TID);
    default:
        return scan_key_if(text, "dur", 3, SCAN_DUR);
    }
}

static inline enum scan_key
scan_key_2(const char *text)
{
    switch (text[0]) {
    case 'p':
        return text[1] == 'h' ? SCAN_PH : SCAN_KEY_UNKNOWN;
    case 't':
        return text[1] == 's' ? SCAN_TS : SCAN_KEY_UNKNOWN;
    default:
        return text[0] == 'i' && text[1] == 'd' ? SCAN_ID : SCAN_KEY_UNKNOWN;
    }
}

static inline enum scan_key
scan_key_4(const char *text)
{
    switch (text[0]) {
    case 'n':
        return scan_key_if(text, "name", 4, SCAN_NAME);
    case 'a':
        return scan_key_if(text, "args", 4, SCAN_ARGS);
    default:
        return scan_key_if(text, "grid", 4, SCAN_GRID);
    }
}

/* `text`: a key after decoding. */
static inline enum scan_key
scan_key_of(const char *text, size_t len)
{
    switch (len) {
    case 2:
        return scan_key_2(text);
    case 3:
        return scan_key_3(text);
    case 4:
        return scan_key_4(text);
    case 5:
        return scan_key_if(text, "block", 5, SCAN_BLOCK);
    case 6:
        return scan_key_if(text, "stream", 6, SCAN_STREAM);
    case 10:
        return text[6] == 'D' ? scan_key_if(text, "Input Dims", 10, SCAN_INPUT_DIMS)
                              : scan_key_if(text, "Input type", 10, SCAN_INPUT_TYPE);
    case 11:
        return text[0] == 'c' ? scan_key_if(text, "correlation", 11, SCAN_CORRELATION)
                              : scan_key_if(text, "External id", 11, SCAN_EXTERNAL_ID);
    default:
        return SCAN_KEY_UNKNOWN;
    }
}

/* Is the value of `key` a field, in an object at `level`? */
static inline bool
scan_key_is_field(enum scan_key key, enum scan_level level)
{
    if (level == LEVEL_EVENT)
        return key <= SCAN_ARGS;
    return level == LEVEL_ARGS && key > SCAN_ARGS && key < SCAN_KEYS;
}
