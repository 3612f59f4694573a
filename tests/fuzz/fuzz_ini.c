/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an INI file: each key keeps within its ceilings and its line. */
#include "ini.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum err_kind
check_key(void *state,
          int line,
          const char *section,
          const char *name,
          const char *value,
          struct err *err)
{
    int *last = state;
    (void)err;
    if (line <= *last || strlen(section) > INI_NAME_BYTES || *name == '\0' ||
        strlen(name) > INI_NAME_BYTES || strlen(value) > INI_LINE_BYTES ||
        strchr(value, '\n') || strchr(name, '='))
        abort();
    *last = line;
    return ERR_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    int last = 0;
    struct err err = {0};
    struct slice text = {len ? (const char *)data : "", len};
    if (ini_parse("fuzz.ini", text, check_key, &last, &err) && err.code[0] == '\0')
        abort();
    return 0;
}
