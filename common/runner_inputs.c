/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the open batch, and what the broker says of each. */
#include "runner_internal.h"

#include <stdlib.h>

#include "topics.h"

enum { FIRST_INPUTS = 256 };

/* A report's token: batch number, position in the batch plus one, dead letter or not. */
enum { TOKEN_INDEX_BITS = 24, TOKEN_DEAD = 1 };

enum err_kind
runner_add_input(struct runner *runner, struct consumed *consumed, struct err *err)
{
    if (runner->n_inputs == runner->cap_inputs) {
        size_t cap = runner->cap_inputs ? runner->cap_inputs * 2 : FIRST_INPUTS;
        struct input *inputs = realloc(runner->inputs, cap * sizeof *inputs);
        if (!inputs)
            return err_no_memory(err, "the records of a batch");
        runner->inputs = inputs;
        runner->cap_inputs = cap;
    }
    const struct message *in = consumed_message(consumed);
    runner->inputs[runner->n_inputs++] = (struct input){consumed, NULL};
    runner->batch_bytes += in->value.len + in->key.len;
    return ERR_OK;
}

struct consumed *
runner_take_last_input(struct runner *runner)
{
    struct consumed *consumed = runner->inputs[--runner->n_inputs].consumed;
    const struct message *in = consumed_message(consumed);
    runner->batch_bytes -= in->value.len + in->key.len;
    return consumed;
}

void
runner_drop_inputs(struct runner *runner)
{
    for (size_t i = 0; i < runner->n_inputs; i++) {
        consumed_free(runner->inputs[i].consumed);
        free(runner->inputs[i].refused);
    }
    runner->n_inputs = 0;
    runner->batch_bytes = 0;
    runner->batch_number++;
    if (runner->settings.states) /* what was not committed by now is given up */
        states_abort(runner->settings.states);
}

void *
runner_token(const struct runner *runner, size_t index, bool dead)
{
    uint64_t number = runner->batch_number << (TOKEN_INDEX_BITS + 1);
    return (void *)(uintptr_t)(number | (index + 1) << 1 | (dead ? TOKEN_DEAD : 0U));
}

void
runner_on_report(void *state, void *token, const struct err *err)
{
    struct runner *runner = state;
    if (!err || err->kind != ERR_RECORD)
        return; /* the flush tells of the other kinds */
    uint64_t number = (uintptr_t)token;
    size_t index = (number >> 1 & (((uint64_t)1 << TOKEN_INDEX_BITS) - 1)) - 1;
    if (number >> (TOKEN_INDEX_BITS + 1) !=
            (runner->batch_number & (UINT64_MAX >> (TOKEN_INDEX_BITS + 1))) ||
        index >= runner->n_inputs)
        return; /* of a batch that was given up: its records come again */
    struct input *input = &runner->inputs[index];
    if (number & TOKEN_DEAD) {
        err_fatal(&runner->failure, EXIT_CONFIG, "dead_letter_refused",
                  "the broker refused a dead letter: %s; look at the settings of %s",
                  err->msg, TOPIC_DEAD);
        return;
    }
    if (!input->refused)
        input->refused = malloc(sizeof *input->refused);
    if (!input->refused) {
        err_no_memory(&runner->failure, "a refused record");
        return;
    }
    *input->refused = *err;
    input->refused->stage = "emit";
}
