/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a split and what is wrong with them. */
#include "params.h"

#include <math.h>
#include <stddef.h>

static const char *const mode_names[SPLIT_MODES] = {
    "auto", "mixed", "decode_only", "prefilldecode", "generic", "range",
};

static const struct split_complaint fine = {NULL, NULL};

const char *
split_mode_name(enum split_mode mode)
{
    return mode_names[mode];
}

static const char *
integer_fault(struct split_number number, int64_t max)
{
    if (number.type != SPLIT_NUMBER_INTEGER)
        return "not an integer";
    if (number.integer < 1)
        return "must be at least 1";
    return number.integer > max ? "too large" : NULL;
}

static const char *
real_fault(struct split_number number)
{
    if (number.type == SPLIT_NUMBER_OTHER || !isfinite(number.real))
        return "not a number";
    return NULL;
}

static const char *
positive_fault(struct split_number number)
{
    const char *fault = real_fault(number);
    return fault ? fault : number.real > 0 ? NULL : "must be greater than 0";
}

static bool
is_given(struct split_number number)
{
    return number.type != SPLIT_NUMBER_ABSENT;
}

static struct split_complaint
check_numbers(const struct split_params *params)
{
    const struct {
        const char *name;
        struct split_number number;
        bool is_required;
        const char *fault;
    } rows[] = {
        {"num_steps", params->num_steps, true,
         integer_fault(params->num_steps, INT32_MAX)},
        {"conc", params->conc, false, integer_fault(params->conc, INT64_MAX)},
        {"osl", params->osl, false, positive_fault(params->osl)},
        {"max_num_seq", params->max_num_seq, false,
         integer_fault(params->max_num_seq, INT64_MAX)},
        {"r", params->r, false, real_fault(params->r)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].fault && (rows[i].is_required || is_given(rows[i].number)))
            return (struct split_complaint){rows[i].name, rows[i].fault};
    return fine;
}

static void
take_numbers(const struct split_params *params, struct split_plan *plan)
{
    plan->num_steps = (uint64_t)params->num_steps.integer;
    plan->has_conc = is_given(params->conc);
    plan->conc = params->conc.integer;
    plan->osl = params->osl.real;
    plan->has_r = is_given(params->r);
    plan->r = params->r.real;
    plan->has_max_num_seq = is_given(params->max_num_seq);
    plan->max_num_seq = params->max_num_seq.integer;
    plan->r_clamped = plan->has_r && (plan->r < 0 || plan->r > 1);
    if (plan->r_clamped)
        plan->r = plan->r < 0 ? 0.0 : 1.0;
}

static bool
find_mode(struct slice name, enum split_mode *ret_mode)
{
    for (int mode = 0; mode < SPLIT_MODES; mode++)
        if (slice_is(name, mode_names[mode])) {
            *ret_mode = (enum split_mode)mode;
            return true;
        }
    return false;
}

/* Digits at `*text`, at least one, taken off; what does not fit is the largest number. */
static bool
take_digits(struct slice *text, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t n = 0;
    for (; n < text->len && text->data[n] >= '0' && text->data[n] <= '9'; n++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(text->data[n] - '0'), &number))
            number = UINT64_MAX / 10;
    *text = (struct slice){text->data + n, text->len - n};
    *ret_number = number;
    return n > 0;
}

static const char *
take_iterations(struct slice text, struct split_plan *plan)
{
    static const char form[] = "must be all, N or A:B";
    if (slice_is(text, "all"))
        return plan->mode == SPLIT_RANGE ? "mode range needs a range" : NULL;
    if (!take_digits(&text, &plan->first))
        return form;
    plan->last = plan->first + 1;
    if (text.len > 0) {
        if (text.data[0] != ':')
            return form;
        text = (struct slice){text.data + 1, text.len - 1};
        if (!take_digits(&text, &plan->last) || text.len > 0)
            return form;
    }
    plan->has_range = plan->last > plan->first;
    return plan->has_range ? NULL : "empty range";
}

struct split_complaint
split_params_check(const struct split_params *params, struct split_plan *ret_plan)
{
    *ret_plan = (struct split_plan){
        .llm_inference = params->llm_inference,
        .allow_degraded = params->allow_degraded,
        .salvage = params->salvage,
    };
    struct split_complaint complaint = check_numbers(params);
    if (complaint.parameter)
        return complaint;
    take_numbers(params, ret_plan);
    if (!find_mode(params->mode, &ret_plan->mode))
        return (struct split_complaint){"mode", "unknown mode"};
    bool has_osl = is_given(params->osl);
    ret_plan->has_analytic = ret_plan->has_conc && has_osl && ret_plan->has_r;
    ret_plan->analytic_ratio_incomplete =
        (has_osl || ret_plan->has_r) && !ret_plan->has_analytic;
    const char *fault = take_iterations(params->iterations, ret_plan);
    return fault ? (struct split_complaint){"iterations", fault} : fine;
}
