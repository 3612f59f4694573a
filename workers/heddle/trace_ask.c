/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a trace. */
#include "trace_ask.h"

#include "json_scan.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum member_type {
    MEMBER_TEXT = 1,
    MEMBER_FIGURE, /* a number as it is written, or a text */
    MEMBER_INT,
    MEMBER_LONG,
    MEMBER_DOUBLE,
    MEMBER_BOOLEAN,
};

/* Where a member goes in a struct trace_ask. */
struct member {
    const char *name;
    enum member_type type;
    size_t offset;
    size_t present; /* of its bool; texts have none */
};

#define REQUEST(name_, type_, field)                                                     \
    {                                                                                    \
        .name = (name_), .type = (type_), .offset = offsetof(struct trace_ask, field)    \
    }
#define SPLIT(type_, field)                                                              \
    {                                                                                    \
        .name = #field, .type = (type_),                                                 \
        .offset = offsetof(struct trace_ask, split.field),                               \
        .present = offsetof(struct trace_ask, split.has_##field)                         \
    }

static const struct member request_members[] = {
    REQUEST("framework", MEMBER_TEXT, request.framework),
    REQUEST("framework_kind", MEMBER_TEXT, request.framework_kind),
    REQUEST("requested_mode", MEMBER_TEXT, request.requested_mode),
    REQUEST("target_platform", MEMBER_TEXT, request.target_platform),
    REQUEST("model_name", MEMBER_TEXT, request.model_name),
    REQUEST("campaign_framework", MEMBER_TEXT, request.campaign_framework),
};

static const struct member baseline_members[] = {
    REQUEST("conc", MEMBER_FIGURE, request.baseline.conc),
    REQUEST("osl", MEMBER_FIGURE, request.baseline.osl),
    REQUEST("random_range_ratio", MEMBER_FIGURE, request.baseline.random_range_ratio),
};

static const struct member split_members[] = {
    SPLIT(MEMBER_INT, num_steps),
    SPLIT(MEMBER_LONG, conc),
    SPLIT(MEMBER_DOUBLE, osl),
    SPLIT(MEMBER_DOUBLE, r),
    SPLIT(MEMBER_LONG, max_num_seq),
    REQUEST("mode", MEMBER_TEXT, split.mode),
    REQUEST("iterations", MEMBER_TEXT, split.iterations),
    SPLIT(MEMBER_BOOLEAN, llm_inference),
    SPLIT(MEMBER_BOOLEAN, allow_degraded),
    SPLIT(MEMBER_BOOLEAN, salvage),
};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

/* An object on its way into a struct trace_ask. */
struct reading {
    struct trace_ask *ask;
    struct arena *arena;
    const char *object; /* "", "baseline.", "split." */
    const struct member *members;
    size_t n_members;
};

static enum err_kind
invalid(const struct reading *reading,
        struct slice key,
        const char *what,
        struct err *err)
{
    return err_set(err, ERR_RECORD, "request_invalid", "%s%.*s: %s", reading->object,
                   (int)(key.len < 100 ? key.len : 100), key.data, what);
}

/* --- values ------------------------------------------------------------------------ */

static void *
place_of(struct trace_ask *ask, size_t offset)
{
    return (char *)ask + offset;
}

static bool
take_whole(struct trace_ask *ask, const struct member *member, struct slice value)
{
    char *end;
    char text[32];
    if (value.len >= sizeof text)
        return false;
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end || errno)
        return false;
    if (member->type == MEMBER_LONG) {
        *(int64_t *)place_of(ask, member->offset) = number;
        return true;
    }
    *(int32_t *)place_of(ask, member->offset) = (int32_t)number;
    return number >= INT32_MIN && number <= INT32_MAX;
}

static bool
take_double(struct trace_ask *ask, const struct member *member, struct slice value)
{
    char *end;
    char text[64];
    if (value.len >= sizeof text)
        return false;
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    double number = strtod(text, &end);
    *(double *)place_of(ask, member->offset) = number;
    return *end == '\0' && isfinite(number);
}

static enum err_kind
take_text(const struct reading *reading,
          const struct member *member,
          struct slice value,
          struct err *err)
{
    struct slice text = value.data[0] == '"' ? json_scan_string(value, reading->arena)
                                             : arena_copy(reading->arena, value);
    if (!text.data)
        return err_no_memory(err, "what is asked of a trace");
    if (text_bad(text) != text.len)
        return invalid(reading, slice_of(member->name), "is no UTF-8", err);
    *(struct slice *)place_of(reading->ask, member->offset) = text;
    return ERR_OK;
}

static enum err_kind
take(const struct reading *reading,
     const struct member *member,
     enum json_type type,
     struct slice value,
     struct err *err)
{
    static const char *const wanted[] = {
        [MEMBER_TEXT] = "a text belongs here",
        [MEMBER_FIGURE] = "a number or a text belongs here",
        [MEMBER_INT] = "a whole number belongs here",
        [MEMBER_LONG] = "a whole number belongs here",
        [MEMBER_DOUBLE] = "a number belongs here",
        [MEMBER_BOOLEAN] = "true or false belongs here",
    };
    bool is_text = type == JSON_TYPE_STRING;
    bool is_number = type == JSON_TYPE_NUMBER;
    bool good = false;
    if (type == JSON_TYPE_NULL)
        return ERR_OK;
    if ((is_text && member->type <= MEMBER_FIGURE) ||
        (is_number && member->type == MEMBER_FIGURE))
        return take_text(reading, member, value, err);
    if (is_number && (member->type == MEMBER_INT || member->type == MEMBER_LONG))
        good = take_whole(reading->ask, member, value);
    else if (is_number && member->type == MEMBER_DOUBLE)
        good = take_double(reading->ask, member, value);
    else if (type == JSON_TYPE_BOOLEAN && member->type == MEMBER_BOOLEAN) {
        *(bool *)place_of(reading->ask, member->offset) = value.data[0] == 't';
        good = true;
    }
    if (!good)
        return invalid(reading, slice_of(member->name), wanted[member->type], err);
    *(bool *)place_of(reading->ask, member->present) = true;
    return ERR_OK;
}

/* --- objects ----------------------------------------------------------------------- */

static enum err_kind
note_member(void *state,
            struct slice key,
            enum json_type type,
            struct slice value,
            struct err *err)
{
    const struct reading *reading = state;
    struct slice name = json_scan_string(key, reading->arena);
    if (!name.data)
        return err_no_memory(err, "what is asked of a trace");
    for (size_t i = 0; i < reading->n_members; i++)
        if (slice_is(name, reading->members[i].name))
            return take(reading, &reading->members[i], type, value, err);
    return invalid(reading, name, "is no member that is known here", err);
}

static enum err_kind
read_object(const struct reading *outer,
            const struct reading *inner,
            enum json_type type,
            struct slice value,
            struct err *err)
{
    if (type == JSON_TYPE_NULL)
        return ERR_OK;
    struct slice inner_name = {inner->object, strlen(inner->object) - 1}; /* no dot */
    if (type != JSON_TYPE_OBJECT)
        return invalid(outer, inner_name, "an object belongs here", err);
    return json_scan_members(value, note_member, (void *)(uintptr_t)inner, err);
}

static enum err_kind
note_top(void *state,
         struct slice key,
         enum json_type type,
         struct slice value,
         struct err *err)
{
    const struct reading *reading = state;
    const struct reading baseline = {reading->ask, reading->arena, "baseline.",
                                     baseline_members, N_OF(baseline_members)};
    const struct reading split = {reading->ask, reading->arena, "split.", split_members,
                                  N_OF(split_members)};
    struct slice name = json_scan_string(key, reading->arena);
    if (!name.data)
        return err_no_memory(err, "what is asked of a trace");
    if (slice_is(name, "baseline"))
        return read_object(reading, &baseline, type, value, err);
    if (slice_is(name, "split"))
        return read_object(reading, &split, type, value, err);
    return note_member(state, key, type, value, err);
}

enum err_kind
trace_ask_parse(struct slice text,
                struct arena *arena,
                struct trace_ask *ret_ask,
                struct err *err)
{
    struct reading reading = {ret_ask, arena, "", request_members, N_OF(request_members)};
    *ret_ask = (struct trace_ask){.request.attempt = 1};
    struct err failed = {0};
    enum err_kind kind = json_scan_members(text, note_top, &reading, &failed);
    if (kind == ERR_RECORD && strcmp(failed.code, "request_invalid") != 0)
        return err_set(err, ERR_RECORD, "request_invalid", "no JSON object: %.300s",
                       failed.msg);
    if (kind)
        *err = failed;
    return kind;
}

/* --- filling ----------------------------------------------------------------------- */

static void
fill(struct trace_ask *ask,
     const struct trace_ask *other,
     const struct member *members,
     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct slice *theirs =
            (const void *)((const char *)other + members[i].offset);
        struct slice *ours = place_of(ask, members[i].offset);
        if (members[i].type <= MEMBER_FIGURE && !ours->data)
            *ours = *theirs;
    }
}

void
trace_ask_fill(struct trace_ask *ask, const struct trace_ask *other)
{
    struct baseline *baseline = &ask->request.baseline;
    fill(ask, other, request_members, N_OF(request_members));
    fill(ask, other, baseline_members, N_OF(baseline_members));
    ask->request.attempt = 1;
    if (!ask->request.framework.data)
        ask->request.framework = SLICE("");
    ask->request.has_baseline =
        baseline->conc.data || baseline->osl.data || baseline->random_range_ratio.data;
}
