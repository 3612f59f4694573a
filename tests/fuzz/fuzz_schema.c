/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a schema: it is refused, or its canonical form is a schema with the same
 * canonical form and fingerprint.
 */
#include "schema_tree.h"

#include "cleanup.h"

#include <stdlib.h>

CLEANUP_DEFINE(struct schema, schema_free);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A canonical form longer than a text may be is no schema again. */
static void
check_canonical(const struct schema *schema)
{
    struct slice form = schema_canonical(schema);
    if (form.len > SCHEMA_MAX_BYTES)
        return;
    CLEANUP(schema_freep) struct schema *again = schema_parse(form, NULL);
    if (!again || !slice_equal(schema_canonical(again), form) ||
        schema_crc64(again) != schema_crc64(schema))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct err err = {0};
    struct slice text = {(const char *)data, len};
    CLEANUP(schema_freep) struct schema *schema = schema_parse(text, &err);
    if (schema)
        check_canonical(schema);
    else if (err.kind != ERR_RECORD || !err.code[0] || !err.msg[0])
        abort();
    return 0;
}
