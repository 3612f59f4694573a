/* SPDX-License-Identifier: Apache-2.0 */
/* heddle demo-traces: profiler traces to feed, each with a story. */
#include "verb.h"

#include "cleanup.h"
#include "demo_folder.h"
#include "trace_gen.h"

struct telling {
    const char *folder;
    struct buf lines;
};

static enum err_kind
write_file(void *state, const struct trace_file *file, struct err *err)
{
    struct telling *telling = state;
    if (file->story)
        buf_addf(&telling->lines, "%-32s %s\n", file->path, file->story);
    return demo_folder_write(telling->folder, file->path, file->content, -1, err);
}

static int
run(const struct program_call *call, struct err *err)
{
    struct telling telling = {.lines = BUF_INIT};
    size_t n = 0;
    if (call->n_rest == 0)
        err_fatal(err, EXIT_USAGE, "argument_missing",
                  "a folder is wanted: heddle demo-traces DIR");
    if (err->kind || verb_refuse_rest(call, 1, err) ||
        demo_folder_check(call->rest[0], err))
        return EXIT_INTERNAL;
    telling.folder = call->rest[0];
    bool failed = trace_generate(write_file, &telling, &n, err) ||
                  buf_check(&telling.lines, "the list of traces", err) ||
                  program_print(&telling.lines, err);
    buf_done(&telling.lines);
    return failed ? EXIT_INTERNAL : EXIT_OK;
}

const struct verb verb_demo_traces = {
    .name = "demo-traces",
    .usage = "DIR",
    .summary = "Writes profiler traces to try splitter and gate with.",
    .details =
        "Serving runs of vLLM and SGLang, a diffusion loop, and captures that went "
        "wrong,\nin one folder for each framework, with its request.json. What each "
        "shows is printed.\nFeed them with\n  heddle feed DIR",
    .no_settings = true,
    .run = run,
};
