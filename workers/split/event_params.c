/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a split from a trace event. */
#include "event_params.h"

#include "request_check.h"

/* A text of the form [+-]?[0-9]+ that fits. */
static struct split_number
whole_of(struct slice text)
{
    const struct split_number other = {.type = SPLIT_NUMBER_OTHER};
    bool negative = text.len > 0 && text.data[0] == '-';
    size_t at = text.len > 0 && (negative || text.data[0] == '+');
    int64_t number = 0;
    if (at == text.len)
        return other;
    for (; at < text.len; at++) {
        int64_t digit = text.data[at] - '0';
        if (digit < 0 || digit > 9 ||
            __builtin_mul_overflow(number, INT64_C(10), &number) ||
            __builtin_add_overflow(number, negative ? -digit : digit, &number))
            return other;
    }
    return SPLIT_INTEGER(number);
}

static struct split_number
real_of(struct slice text)
{
    struct amount amount = amount_of_text(text);
    return amount.known ? SPLIT_REAL(amount.value)
                        : (struct split_number){.type = SPLIT_NUMBER_OTHER};
}

/* The request's part: no event gives these to the splitter but by `split`. */
static enum err_kind
ask(const struct trace_event *event,
    const struct split_hints *environment,
    struct arena *arena,
    struct split_request_answer *ret_answer,
    struct err *err)
{
    const struct request *request = &event->request;
    const struct baseline *baseline = &request->baseline;
    struct split_ask question = {
        .framework = request->framework,
        .steady_state_mode = request->requested_mode,
        .campaign_framework = request->campaign_framework,
    };
    if (request->has_baseline)
        question.baseline = (struct split_hints){baseline->conc, baseline->osl,
                                                 baseline->random_range_ratio};
    return split_request(&question, (struct slice){0}, environment, arena, ret_answer,
                         err);
}

static void
take_derived(const struct split_request_answer *answer, struct event_params *to)
{
    const struct split_hints *hints = &answer->hints;
    to->params = SPLIT_PARAMS_DEFAULT;
    to->params.num_steps = SPLIT_INTEGER(answer->num_steps);
    to->params.mode = answer->kind == KIND_SERVING ? SLICE("auto") : SLICE("generic");
    to->params.llm_inference = answer->llm_inference;
    if (hints->conc.data)
        to->params.conc = whole_of(hints->conc);
    if (hints->osl.data)
        to->params.osl = real_of(hints->osl);
    if (hints->r.data)
        to->params.r = real_of(hints->r);
}

static void
lay_numbers(const struct split_request_parameters *given, struct split_params *params)
{
    if (given->has_num_steps)
        params->num_steps = SPLIT_INTEGER(given->num_steps);
    if (given->has_conc)
        params->conc = SPLIT_INTEGER(given->conc);
    if (given->has_osl)
        params->osl = SPLIT_REAL(given->osl);
    if (given->has_r)
        params->r = SPLIT_REAL(given->r);
    if (given->has_max_num_seq)
        params->max_num_seq = SPLIT_INTEGER(given->max_num_seq);
}

static void
lay_choices(const struct split_request_parameters *given,
            bool serving,
            struct split_params *params)
{
    if (serving && given->mode.data)
        params->mode = given->mode;
    if (serving && given->has_llm_inference)
        params->llm_inference = given->llm_inference;
    if (given->iterations.data)
        params->iterations = given->iterations;
    params->allow_degraded = given->has_allow_degraded && given->allow_degraded;
    params->salvage = given->has_salvage && given->salvage;
}

static bool
is_number(struct split_number number)
{
    return number.type == SPLIT_NUMBER_INTEGER || number.type == SPLIT_NUMBER_REAL;
}

static void
make_record(struct event_params *to)
{
    const struct split_params *params = &to->params;
    to->record = (struct split_parameters){
        .num_steps = (int32_t)params->num_steps.integer,
        .has_conc = is_number(params->conc),
        .conc = params->conc.integer,
        .has_osl = is_number(params->osl),
        .osl = params->osl.real,
        .has_r = is_number(params->r),
        .r = params->r.real,
        .has_max_num_seq = is_number(params->max_num_seq),
        .max_num_seq = params->max_num_seq.integer,
        .mode = params->mode,
        .iterations = params->iterations,
        .llm_inference = params->llm_inference,
        .allow_degraded = params->allow_degraded,
        .salvage = params->salvage,
    };
}

enum err_kind
event_params_of(const struct trace_event *event,
                const struct split_hints *environment,
                struct arena *arena,
                struct event_params *ret_params,
                struct err *err)
{
    struct split_request_answer answer;
    if (request_check(&event->request, err))
        return err_at(err, "gather");
    if (ask(event, environment, arena, &answer, err))
        return err->kind;
    *ret_params = (struct event_params){0};
    take_derived(&answer, ret_params);
    lay_numbers(&event->split, &ret_params->params);
    lay_choices(&event->split, answer.kind == KIND_SERVING, &ret_params->params);
    if (ret_params->params.conc.type == SPLIT_NUMBER_OTHER)
        ret_params->bad_conc = answer.hints.conc;
    if (ret_params->params.osl.type == SPLIT_NUMBER_OTHER)
        ret_params->bad_osl = answer.hints.osl;
    make_record(ret_params);
    return ERR_OK;
}

struct slice
event_params_reason(const struct event_params *params, struct slice parameter)
{
    if (slice_is(parameter, "conc"))
        return params->bad_conc;
    return slice_is(parameter, "osl") ? params->bad_osl : (struct slice){0};
}

struct slice
event_key(const struct trace_event *event)
{
    return event->request.attempt == 2 ? event->request.retry_of
                                       : event->request.request_id;
}
