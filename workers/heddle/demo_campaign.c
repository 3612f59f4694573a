/* SPDX-License-Identifier: Apache-2.0 */
/* heddle demo-campaign: a campaign folder to feed, of the published census. */
#include "verb.h"

#include "campaign_gen.h"
#include "cleanup.h"
#include "demo_folder.h"

static struct demo_settings {
    int64_t seed;
} settings;

static const struct option demo_options[] = {
    {.name = "seed",
     .type = OPTION_INT,
     .offset = offsetof(struct demo_settings, seed),
     .value = "1",
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "Draws what is not published: which run had which tuner, and how long."},
};

static enum err_kind
write_file(void *state, const struct campaign_file *file, struct err *err)
{
    return demo_folder_write(state, file->path, file->content, file->mtime_us, err);
}

static int
run(const struct program_call *call, struct err *err)
{
    struct campaign_totals totals = {0};
    if (call->n_rest == 0)
        err_fatal(err, EXIT_USAGE, "argument_missing",
                  "a folder is wanted: heddle demo-campaign DIR");
    if (err->kind || verb_refuse_rest(call, 1, err) ||
        demo_folder_check(call->rest[0], err) ||
        campaign_generate((uint64_t)settings.seed, write_file, call->rest[0], &totals,
                          err))
        return EXIT_INTERNAL;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    buf_addf(&out, "%s: %zu runs in %zu sessions, %zu logs, %zu lost runs\n",
             call->rest[0], totals.results, totals.traces, totals.logs, totals.lost);
    return program_print(&out, err) ? EXIT_INTERNAL : EXIT_OK;
}

const struct verb verb_demo_campaign = {
    .name = "demo-campaign",
    .usage = "[OPTION]... DIR",
    .summary = "Writes a campaign folder to try the fleet with.",
    .details = "388 runs in the proportions published for 18 August 2026. As on a node, "
               "the files\nname no backend; feed them with\n"
               "  heddle feed --set backend='\"forge\"' --set engine='\"forge\"' DIR",
    .options = demo_options,
    .n_options = sizeof demo_options / sizeof demo_options[0],
    .settings = &settings,
    .no_settings = true,
    .run = run,
};
