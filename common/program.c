/* SPDX-License-Identifier: Apache-2.0 */
/* The start that all programs share. */
#include "program.h"

#include <errno.h>
#include <openssl/opensslv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "log.h"

/* Room for the names of librdkafka's features. */
enum { FEATURES_BYTES = 512 };

int
program_fail(const char *name, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", name, err->msg);
    return err_exit_code(err);
}

enum err_kind
program_print(const struct buf *out, struct err *err)
{
    enum err_kind kind = buf_check(out, "the output", err);
    if (kind)
        return kind;
    struct slice text = buf_slice(out);
    if (fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0)
        return ERR_OK;
    return err_fatal(err, EXIT_TRY_AGAIN, "output_failed",
                     "standard output can't be written: %s", strerror(errno));
}

enum err_kind
program_check(const struct program_call *call, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct kafka_settings kafka = fleet_kafka_settings(&call->fleet, call->options, NULL);
    enum err_kind kind = kafka_check_properties(&kafka, err);
    if (kind)
        return kind;
    options_print(call->options, &out);
    return program_print(&out, err);
}

static void
add_help(const struct program *program, const struct options *options, struct buf *out)
{
    buf_addf(out, "Usage: %s %s\n%s\n\n", program->name, program->usage,
             program->summary);
    if (program->details)
        buf_addf(out, "%s\n\n", program->details);
    options_help(options, out);
}

void
program_version(const char *name, bool with_features, struct buf *out)
{
    buf_addf(out, "%s %s\n", name, HEDDLE_VERSION);
    if (!with_features)
        return;
    char features[FEATURES_BYTES] = "";
    kafka_features(features, sizeof features);
    buf_addf(out, "delivery    exactly-once, at-least-once\n");
    buf_addf(out, "librdkafka  %s (%s)\n", kafka_version(), features);
    buf_addf(out, "openssl     %s\n", OPENSSL_VERSION_TEXT);
}

/* The flags that are a question, which no broken configuration keeps from an answer. */
static enum err_kind
answer_question(const struct program *program,
                const struct program_call *call,
                struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    if (call->fleet.help)
        add_help(program, call->options, &out);
    else
        program_version(program->name, call->fleet.features, &out);
    return program_print(&out, err);
}

static enum err_kind
load(const struct program *program, struct program_call *call, struct err *err)
{
    CLEANUP(config_file_done) struct config_file file = {0};
    if (program->no_settings)
        return ERR_OK;
    enum err_kind kind = config_find(call->fleet.config, &file, err);
    if (!kind && file.path)
        kind = config_read(call->options, file.path, err);
    if (!kind)
        kind = options_set_environment(call->options, environ, err);
    if (!kind && file.place == CONFIG_DEV)
        fprintf(stderr,
                "%s: using %s of the embedded broker (`heddle dev down` ends it)\n",
                program->name, file.path);
    return kind;
}

static enum err_kind
parse(const struct program *program,
      int argc,
      char **argv,
      struct program_call *call,
      struct err *err)
{
    struct option_table tables[] = {
        {program->options, program->n_options, program->settings, false},
        {program->more, program->n_more, program->more_settings, false},
        {fleet_run_options, n_fleet_run_options, &call->fleet, !program->worker},
        {fleet_options, n_fleet_options, &call->fleet, program->no_settings},
    };
    call->rest = calloc((size_t)argc + 1, sizeof *call->rest);
    if (!call->rest)
        return err_no_memory(err, "the command line");
    call->options = options_new(tables, sizeof tables / sizeof tables[0],
                                config_read_value, NULL, err);
    if (!call->options)
        return err->kind;
    options_foreign_sections(call->options, fleet_sections);
    return options_set_arguments(call->options, argc, argv, call->rest, &call->n_rest,
                                 err);
}

/* True: go on; false: answered, or failed with `err`. */
static bool
start(const struct program *program,
      int argc,
      char **argv,
      struct program_call *call,
      struct err *err)
{
    if (parse(program, argc, argv, call, err))
        return false;
    if (call->fleet.help || call->fleet.version) {
        answer_question(program, call, err);
        return false;
    }
    if (load(program, call, err))
        return false;
    log_setup(program->name, (enum log_format)call->fleet.log_format,
              (enum log_level)call->fleet.log_level);
    if (call->fleet.check)
        program_check(call, err);
    return !call->fleet.check;
}

bool
program_start(const struct program *program,
              int argc,
              char **argv,
              struct program_call *ret_call,
              int *ret_status)
{
    struct err err = {0};
    *ret_call = (struct program_call){.argc = argc, .argv = argv};
    if (start(program, argc, argv, ret_call, &err))
        return true;
    *ret_status = err.kind ? program_fail(program->name, &err) : EXIT_OK;
    return false;
}

void
program_done(struct program_call *call)
{
    options_free(call->options);
    free(call->rest);
    *call = (struct program_call){0};
}
