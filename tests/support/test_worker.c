/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heddle-testworker: a worker for tests of the runner. It turns each tuning event into
 * one warning whose key and subject are the event's workspace, and does as the workspace
 * says: "retry:N ..." fails N times, "never ..." always (final code claim_not_found),
 * "record ..." is refused, "fatal ..." ends the process, "big ..." gives a record above
 * its topic's limit after a small one, "hang ..." does not return,
 * "crash ..." kills the process, "nokey ..." gives a record without a key. TEST_INPUT and
 * TEST_OUTPUT in the environment name other topics than heddle.tunings and
 * heddle.warnings.
 */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "topics.h"
#include "tuning_event.h"
#include "warning.h"

static struct {
    struct serde *serde;
    struct provenance provenance;
    int attempts;
    const char *output;
} worker_state;

static struct settings {
    int64_t level;
} settings;

static const struct option test_options[] = {
    {.section = "test",
     .name = "level",
     .type = OPTION_INT,
     .offset = offsetof(struct settings, level),
     .value = "1",
     .traits = OPTION_DERIVE,
     .help = "Is part of config_sha256."},
};

static enum err_kind
open_state(const struct worker_context *context, void **ret_state, struct err *err)
{
    worker_state.provenance = *context->provenance;
    worker_state.serde = serde_new(&tuning_event_type, context->schemas, err);
    *ret_state = &worker_state;
    return worker_state.serde ? ERR_OK : err->kind;
}

static void
close_state(void *state)
{
    (void)state;
    serde_free(worker_state.serde);
}

static bool
says(struct slice text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && memcmp(text.data, word, len) == 0;
}

static enum err_kind
obey(struct slice text, struct err *err)
{
    if (says(text, "retry:")) {
        if (++worker_state.attempts <= atoi(text.data + 6))
            return err_set(err, ERR_RETRY, "not_yet", "attempt %d",
                           worker_state.attempts);
        worker_state.attempts = 0;
    }
    if (says(text, "never ")) {
        err_set(err, ERR_RETRY, "claim_pending", "not there");
        err->final_code = "claim_not_found";
        err->stage = "gather";
        return ERR_RETRY;
    }
    if (says(text, "record "))
        return err_set(err, ERR_RECORD, "event_without_parts", "refused as asked");
    if (says(text, "fatal "))
        return err_fatal(err, EXIT_CONFIG, "asked_to_end", "ended as asked");
    if (says(text, "crash "))
        raise(SIGKILL);
    if (says(text, "hang ")) {
        fprintf(stderr, "hanging\n");
        for (;;)
            pause();
    }
    return ERR_OK;
}

static enum err_kind
emit(struct emits *out, struct slice key, size_t size, struct err *err)
{
    struct warning *warning = arena_calloc(out->arena, 1, sizeof *warning);
    char *text = arena_calloc(out->arena, 1, size + 1);
    if (!warning || !text)
        return err_no_memory(err, "a warning");
    memset(text, 'x', size);
    warning->code = SLICE("test");
    warning->subject = key;
    warning->message = (struct slice){text, size};
    warning->origin = (struct origin){SLICE(""), SLICE(""), SLICE(""), 0, SLICE("")};
    warning->provenance = worker_state.provenance;
    if (says(key, "nokey "))
        key = (struct slice){0};
    return emits_add(out, worker_state.output, key, &warning_type, warning, 77, err);
}

static enum err_kind
on_record(void *state, const struct message *in, struct emits *out, struct err *err)
{
    (void)state;
    struct tuning_event event;
    if (serde_decode(worker_state.serde, in->value, out->arena, &event, err))
        return err->kind;
    if (obey(event.workspace, err))
        return err->kind;
    if (emit(out, event.workspace, 10, err))
        return err->kind;
    if (says(event.workspace, "big "))
        return emit(out, event.workspace, (size_t)2 << 20, err);
    return ERR_OK;
}

static const char *
topic_from(const char *variable, const char *topic)
{
    const char *other = getenv(variable);
    return other ? other : topic;
}

int
main(int argc, char **argv)
{
    worker_state.output = topic_from("TEST_OUTPUT", TOPIC_WARNINGS);
    const char *const outputs[] = {worker_state.output, NULL};
    const struct worker worker = {
        .name = "test",
        .summary = "Does as its input says.",
        .input = topic_from("TEST_INPUT", TOPIC_TUNINGS),
        .input_type = &tuning_event_type,
        .outputs = outputs,
        .options = test_options,
        .n_options = 1,
        .settings = &settings,
        .open = open_state,
        .on_record = on_record,
        .close = close_state,
    };
    return worker_main(&worker, argc, argv);
}
