/* SPDX-License-Identifier: Apache-2.0 */
/* Any row and x: counted or refused, and what is printed is JSON. A line feed parts them.
 */
#include "census_fold.h"
#include "census_print.h"
#include "example.h"
#include "json_scan.h"

#include "cleanup.h"

#include <stdlib.h>

CLEANUP_DEFINE(struct census, census_free);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check_print(const struct census *census)
{
    CLEANUP(census_counts_done) struct census_counts counts = {0};
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    enum json_type type;
    if (census_count(census, &counts, NULL))
        abort();
    if (counts.rows + counts.orphan_records > 1 || counts.silent > counts.entries)
        abort();
    census_json(&counts, &out);
    if (json_scan_check(buf_slice(&out), &type, NULL))
        abort();
    census_table(&counts, &out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct slice text = {(const char *)data, len};
    const char *feed = len ? memchr(data, '\n', len) : NULL;
    struct slice row =
        feed ? (struct slice){text.data, (size_t)(feed - text.data)} : text;
    struct slice x = feed ? (struct slice){feed + 1, len - row.len - 1} : SLICE("{}");
    struct audit_row record = {.row = row, .x = x, .trace = x};
    struct message in = {.topic = "t", .key = SLICE("k")};
    struct example example = {.outcome = "crashed"};
    struct err err = {0};
    CLEANUP(census_freep) struct census *census = census_new(NULL);
    if (!census)
        return 0;
    if (census_add(census, SLICE("k"), &record, &err) && err.kind != ERR_RECORD)
        abort();
    check_print(census);
    example_write(&example, &in, &record);
    buf_done(&example.text);
    return 0;
}
