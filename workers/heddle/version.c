/* SPDX-License-Identifier: Apache-2.0 */
/* heddle version: what this build is, and with --features what it was built with. */
#include "verb.h"

#include "cleanup.h"

static int
run(const struct program_call *call, struct err *err)
{
    if (verb_refuse_rest(call, 0, err))
        return EXIT_USAGE;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    program_version("heddle", call->fleet.features, &out);
    program_print(&out, err);
    return EXIT_OK;
}

const struct verb verb_version = {
    .name = "version",
    .usage = "[--features]",
    .summary = "Prints the version; with --features the libraries and what they can do.",
    .no_settings = true,
    .run = run,
};
