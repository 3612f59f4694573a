/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a trace, filled event by event. */
#include "events.h"

#include "events_state.h"
#include "number.h"

#include <stdlib.h>

/* The text of a value that is a string, decoded only when it must be. Borrowed. */
static struct slice
text_of(struct events *events, struct scan_value value)
{
    if (value.plain)
        return (struct slice){value.text, value.len};
    buf_reset(&events->scratch);
    scan_add_text(&events->scratch, value);
    return buf_slice(&events->scratch);
}

static enum err_kind
no_room(struct events *events, const struct texts *texts, struct err *err)
{
    if (!texts_is_full(texts) && events_text_bytes(events) <= events->max_texts)
        return err_no_memory(err, "the names of the trace");
    events->limit = "max_strings";
    return err_set(err, ERR_RECORD, "trace_too_large",
                   "the distinct strings of the trace take more than %llu bytes; raise "
                   "max_strings (and index_memory, half of which they may take)",
                   (unsigned long long)events->max_texts);
}

/* One table's number of `text`; the tables share one ceiling. */
static enum err_kind
intern(struct events *events,
       struct texts *texts,
       struct slice text,
       uint32_t *ret_number,
       struct err *err)
{
    uint32_t n = texts_count(texts);
    if (!texts_add(texts, text, ret_number))
        return no_room(events, texts, err);
    if (*ret_number == n && events_text_bytes(events) > events->max_texts)
        return no_room(events, texts, err);
    return ERR_OK;
}

/* Decimal text without sign and leading zeros, below 2^31 - 1: its number, else 0. */
static event_id
small_id(struct slice text)
{
    enum { SMALL_DIGITS = 10 };
    uint64_t number = 0;
    if (text.len == 0 || text.len > SMALL_DIGITS || (text.data[0] == '0' && text.len > 1))
        return 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return number < EVENT_ID_TEXT - 1 ? (event_id)number + 1 : 0;
}

static enum err_kind
id_of_text(struct events *events, struct slice text, event_id *ret_id, struct err *err)
{
    uint32_t number;
    *ret_id = small_id(text);
    if (*ret_id)
        return ERR_OK;
    enum err_kind kind = intern(events, events->texts, text, &number, err);
    *ret_id = EVENT_ID_TEXT | number;
    return kind;
}

/* 0 when the event has no such id. */
static enum err_kind
id_of(struct events *events,
      const struct scan_event *event,
      enum scan_key key,
      event_id *ret_id,
      struct err *err)
{
    struct slice text;
    *ret_id = 0;
    if (!scan_has(event, key) || !number_id(event->field[key], &events->scratch, &text))
        return ERR_OK;
    return id_of_text(events, text, ret_id, err);
}

static enum err_kind
name_of(struct events *events,
        const struct scan_event *event,
        uint32_t *ret_name,
        struct err *err)
{
    struct scan_value value = event->field[SCAN_NAME];
    struct slice text = {"", 0};
    *ret_name = 0;
    if (!scan_has(event, SCAN_NAME))
        return ERR_OK;
    if (value.type == SCAN_STRING)
        text = text_of(events, value);
    else if (!number_id(value, &events->scratch, &text))
        return ERR_OK;
    return intern(events, events->texts, text, ret_name, err);
}

/* The raw text of a value under a number of its own. */
static enum err_kind
raw_of(struct events *events,
       const struct scan_event *event,
       enum scan_key key,
       uint32_t *ret_text,
       struct err *err)
{
    struct scan_value value = event->field[key];
    struct slice text = {value.text, value.len};
    if (value.type == SCAN_STRING)
        text = (struct slice){value.text - 1, text.len + 2};
    return intern(events, events->texts, text, ret_text, err);
}

/* pid and tid as they stand, to know the thread of the event before again. */
struct thread_text {
    struct scan_value pid;
    struct scan_value tid;
};

static struct scan_value
field_or_nothing(const struct scan_event *event, enum scan_key key)
{
    if (scan_has(event, key))
        return event->field[key];
    return (struct scan_value){.text = "", .type = SCAN_NULL};
}

static size_t
thread_slot(struct thread_text text)
{
    uint32_t hash = text.pid.len * 31 + text.tid.len;
    if (text.pid.len)
        hash = hash * 31 + (unsigned char)text.pid.text[text.pid.len - 1];
    for (uint32_t i = text.tid.len > 4 ? text.tid.len - 4 : 0; i < text.tid.len; i++)
        hash = hash * 31 + (unsigned char)text.tid.text[i];
    return hash % EVENTS_SEEN_THREADS;
}

static bool
is_same_value(const struct scan_value *a, const char *text, uint32_t len, uint8_t type)
{
    return a->len == len && a->type == type && memcmp(a->text, text, len) == 0;
}

static bool
is_seen(const struct seen_thread *seen, const struct thread_text *text)
{
    return seen->is_set &&
           is_same_value(&text->pid, seen->text, seen->pid_len, seen->pid_type) &&
           is_same_value(&text->tid, seen->text + seen->pid_len, seen->tid_len,
                         seen->tid_type);
}

static void
note_seen(struct seen_thread *seen, const struct thread_text *text, uint32_t thread)
{
    seen->is_set = text->pid.len + text->tid.len <= sizeof seen->text &&
                   text->pid.plain >= (text->pid.type == SCAN_STRING) &&
                   text->tid.plain >= (text->tid.type == SCAN_STRING);
    if (!seen->is_set)
        return;
    memcpy(seen->text, text->pid.text, text->pid.len);
    memcpy(seen->text + text->pid.len, text->tid.text, text->tid.len);
    seen->pid_len = (uint8_t)text->pid.len;
    seen->tid_len = (uint8_t)text->tid.len;
    seen->pid_type = text->pid.type;
    seen->tid_type = text->tid.type;
    seen->thread = thread;
}

static enum err_kind
new_thread(struct events *events,
           const struct scan_event *event,
           uint32_t *ret_thread,
           struct err *err)
{
    struct event_thread thread;
    enum err_kind kind = id_of(events, event, SCAN_PID, &thread.pid, err);
    if (!kind)
        kind = id_of(events, event, SCAN_TID, &thread.tid, err);
    if (kind)
        return kind;
    thread.pid = thread.pid ? thread.pid : EVENT_ID_TEXT;
    thread.tid = thread.tid ? thread.tid : EVENT_ID_TEXT;
    struct slice key = {(const char *)&thread, sizeof thread};
    if ((kind = intern(events, events->threads, key, ret_thread, err)))
        return kind;
    if (*ret_thread <= EVENT_MAX_THREAD)
        return ERR_OK;
    events->limit = "max_strings";
    return err_set(err, ERR_RECORD, "trace_too_large",
                   "the trace has more than %u threads", EVENT_MAX_THREAD);
}

static enum err_kind
thread_of(struct events *events,
          const struct scan_event *event,
          uint32_t *ret_thread,
          struct err *err)
{
    struct thread_text text = {field_or_nothing(event, SCAN_PID),
                               field_or_nothing(event, SCAN_TID)};
    struct seen_thread *seen = &events->seen[thread_slot(text)];
    if (is_seen(seen, &text)) {
        *ret_thread = seen->thread;
        return ERR_OK;
    }
    enum err_kind kind = new_thread(events, event, ret_thread, err);
    if (!kind)
        note_seen(seen, &text, *ret_thread);
    return kind;
}

static enum event_category
category_if(struct slice text, const char *name, enum event_category category)
{
    return memcmp(text.data, name, text.len) == 0 ? category : CATEGORY_OTHER;
}

static enum event_category
category_of_text(struct slice text)
{
    switch (text.len) {
    case 6:
        return text.data[0] == 'c' ? category_if(text, "cpu_op", CATEGORY_CPU_OP)
                                   : category_if(text, "kernel", CATEGORY_KERNEL);
    case 10:
        return text.data[7] == 'c' ? category_if(text, "gpu_memcpy", CATEGORY_GPU_MEMCPY)
                                   : category_if(text, "gpu_memset", CATEGORY_GPU_MEMSET);
    case 11:
        return category_if(text, "cuda_driver", CATEGORY_CUDA_DRIVER);
    case 12:
        return category_if(text, "cuda_runtime", CATEGORY_CUDA_RUNTIME);
    case 15:
        return text.data[0] == 'p'
                   ? category_if(text, "python_function", CATEGORY_PYTHON_FUNCTION)
                   : category_if(text, "user_annotation", CATEGORY_ANNOTATION);
    case 19:
        return category_if(text, "gpu_user_annotation", CATEGORY_GPU_ANNOTATION);
    default:
        return CATEGORY_OTHER;
    }
}

static enum event_category
category_of(struct events *events, const struct scan_event *event)
{
    if (!scan_has(event, SCAN_CAT) || event->field[SCAN_CAT].type != SCAN_STRING)
        return CATEGORY_OTHER;
    struct slice text = text_of(events, event->field[SCAN_CAT]);
    enum event_category category = category_of_text(text);
    bool is_op = category == CATEGORY_ANNOTATION && scan_has(event, SCAN_INPUT_DIMS);
    return is_op ? CATEGORY_OTHER : category;
}

static bool
is_gpu(enum event_category category)
{
    return category >= CATEGORY_KERNEL;
}

/* A list that holds at least one non-empty list. */
static bool
has_dims(struct scan_value value)
{
    int depth = 0;
    if (value.type != SCAN_ARRAY)
        return false;
    for (const char *at = value.text; at < value.text + value.len; at++) {
        if (*at == '"' || *at == '{')
            return scan_has_list(value);
        if (*at == ']')
            depth--;
        else if (*at == '[')
            depth++;
        else if (depth == 2 && *at != ' ' && *at != '\n' && *at != '\r' && *at != '\t')
            return true;
        if (depth == 3)
            return true;
    }
    return false;
}

static enum err_kind
shape_of(struct events *events,
         const struct scan_event *event,
         uint32_t *ret_detail,
         struct err *err)
{
    struct event_shape shape;
    enum err_kind kind = ERR_OK;
    memset(&shape, 0, sizeof shape);
    shape.has_dims_key = scan_has(event, SCAN_INPUT_DIMS);
    shape.has_type_key = scan_has(event, SCAN_INPUT_TYPE);
    if (shape.has_dims_key) {
        shape.has_dims = has_dims(event->field[SCAN_INPUT_DIMS]);
        kind = raw_of(events, event, SCAN_INPUT_DIMS, &shape.dims, err);
    }
    if (!kind && shape.has_type_key)
        kind = raw_of(events, event, SCAN_INPUT_TYPE, &shape.type, err);
    if (kind)
        return kind;
    return intern(events, events->shapes, (struct slice){(char *)&shape, sizeof shape},
                  ret_detail, err);
}

static enum err_kind
launch_of(struct events *events,
          const struct scan_event *event,
          uint32_t *ret_detail,
          struct err *err)
{
    struct event_launch launch;
    memset(&launch, 0, sizeof launch);
    enum err_kind kind = id_of(events, event, SCAN_STREAM, &launch.stream, err);
    if (!kind && scan_has(event, SCAN_GRID) && event->field[SCAN_GRID].type == SCAN_ARRAY)
        kind = raw_of(events, event, SCAN_GRID, &launch.grid, err);
    if (!kind && scan_has(event, SCAN_BLOCK) &&
        event->field[SCAN_BLOCK].type == SCAN_ARRAY)
        kind = raw_of(events, event, SCAN_BLOCK, &launch.block, err);
    if (kind)
        return kind;
    return intern(events, events->launches,
                  (struct slice){(char *)&launch, sizeof launch}, ret_detail, err);
}

static enum err_kind
detail_of(struct events *events,
          const struct scan_event *event,
          enum event_category category,
          uint32_t *ret_detail,
          struct err *err)
{
    const uint32_t shape_keys = 1U << SCAN_INPUT_DIMS | 1U << SCAN_INPUT_TYPE;
    const uint32_t launch_keys = 1U << SCAN_STREAM | 1U << SCAN_GRID | 1U << SCAN_BLOCK;
    *ret_detail = 0;
    if (is_gpu(category) && event->present & launch_keys)
        return launch_of(events, event, ret_detail, err);
    if (!is_gpu(category) && event->present & shape_keys)
        return shape_of(events, event, ret_detail, err);
    return ERR_OK;
}

/* All but the times. */
static enum err_kind
describe(struct events *events,
         const struct scan_event *from,
         struct event *ret,
         struct err *err)
{
    uint32_t thread;
    enum event_category category = category_of(events, from);
    enum err_kind kind = thread_of(events, from, &thread, err);
    if (!kind)
        kind = name_of(events, from, &ret->name, err);
    if (!kind)
        kind = id_of(events, from, SCAN_CORRELATION, &ret->correlation, err);
    if (!kind)
        kind = id_of(events, from, SCAN_EXTERNAL_ID, &ret->external_id, err);
    if (!kind)
        kind = detail_of(events, from, category, &ret->detail, err);
    if (kind)
        return kind;
    ret->place = from->index | (uint64_t)category << EVENT_CATEGORY_SHIFT |
                 (uint64_t)thread << EVENT_THREAD_SHIFT;
    return ERR_OK;
}

/* Rules 7 to 10. */
static enum err_kind
place(struct events *events, const struct event *event, struct err *err)
{
    enum event_category category = event_category(*event);
    if (category == CATEGORY_GPU_ANNOTATION)
        return column_add(&events->gpu_annotations, event, err);
    if (is_gpu(category)) {
        events->counts.gpu_events_without_correlation += event->correlation == 0;
        events->gpu_busy_ns = event_sum_ns(events->gpu_busy_ns, event->dur_ns);
        return column_add(&events->gpu, event, err);
    }
    enum err_kind kind = ERR_OK;
    if (category == CATEGORY_ANNOTATION)
        kind = column_add(&events->annotations, event, err);
    return kind ? kind : column_add(&events->cpu, event, err);
}

/* One text of one letter, as ph is; 0: another. */
static char
phase_of(struct events *events, const struct scan_event *event)
{
    if (!scan_has(event, SCAN_PH) || event->field[SCAN_PH].type != SCAN_STRING)
        return 0;
    struct slice text = text_of(events, event->field[SCAN_PH]);
    if (text.len != 1)
        return 0;
    return text.data[0];
}

static bool
time_of(struct events *events, struct scan_value value, int64_t *ret_ns)
{
    bool is_string;
    bool is_usable = number_ns(value, ret_ns, &is_string);
    events->counts.string_number += is_string;
    return is_usable;
}

static enum err_kind
add_flow(struct events *events, const struct scan_event *event, struct err *err)
{
    event_id id;
    enum err_kind kind = id_of(events, event, SCAN_ID, &id, err);
    if (kind || id == 0)
        return kind;
    struct event_mark mark = {id, event->index};
    return column_add(&events->flows, &mark, err);
}

static enum err_kind
grow_open(struct events *events, uint32_t thread, struct err *err)
{
    if (thread < events->n_open)
        return ERR_OK;
    uint32_t n = events->n_open ? events->n_open : 16;
    while (n <= thread)
        n *= 2;
    uint64_t *open = reallocarray(events->open, n, sizeof *open);
    if (!open)
        return err_no_memory(err, "the threads of the trace");
    memset(open + events->n_open, 0, (n - events->n_open) * sizeof *open);
    events->open = open;
    events->n_open = n;
    return ERR_OK;
}

static enum err_kind
add_begin(struct events *events,
          const struct scan_event *from,
          int64_t ts_ns,
          struct err *err)
{
    struct begin begin = {.event.ts_ns = ts_ns};
    enum err_kind kind = describe(events, from, &begin.event, err);
    uint32_t thread = kind ? 0 : event_thread(begin.event);
    if (kind || (kind = grow_open(events, thread, err)))
        return kind;
    begin.below = events->open[thread];
    if ((kind = column_add(&events->begins, &begin, err)))
        return kind;
    events->open[thread] = events->begins.n;
    events->counts.unmatched_begin_end++;
    return ERR_OK;
}

static enum err_kind
add_end(struct events *events,
        const struct scan_event *from,
        int64_t ts_ns,
        struct err *err)
{
    struct begin begin;
    uint32_t thread;
    enum err_kind kind = thread_of(events, from, &thread, err);
    if (kind || (kind = grow_open(events, thread, err)))
        return kind;
    uint64_t top = events->open[thread];
    if (top == 0) {
        events->counts.unmatched_begin_end++;
        return ERR_OK;
    }
    column_read(&events->begins, top - 1, &begin);
    events->open[thread] = begin.below;
    if (top == events->begins.n)
        column_drop_last(&events->begins);
    events->counts.unmatched_begin_end--;
    if (ts_ns < begin.event.ts_ns) {
        events->counts.negative_dur++;
        return ERR_OK;
    }
    begin.event.dur_ns = ts_ns - begin.event.ts_ns;
    struct event_mark pair = {(int64_t)event_index(begin.event), from->index};
    events->counts.begin_end_pairs++;
    if ((kind = column_add(&events->pairs, &pair, err)))
        return kind;
    return place(events, &begin.event, err);
}

/* Rule 6 and on. */
static enum err_kind
add_complete(struct events *events,
             const struct scan_event *from,
             int64_t ts_ns,
             struct err *err)
{
    struct event event = {.ts_ns = ts_ns};
    if (!scan_given(from, SCAN_DUR)) {
        events->counts.without_dur++;
        return ERR_OK;
    }
    if (!time_of(events, from->field[SCAN_DUR], &event.dur_ns)) {
        events->counts.bad_number++;
        return ERR_OK;
    }
    if (event.dur_ns < 0) {
        events->counts.negative_dur++;
        return ERR_OK;
    }
    enum err_kind kind = describe(events, from, &event, err);
    return kind ? kind : place(events, &event, err);
}

static bool
is_event_object(const struct scan_event *event)
{
    if (scan_has(event, SCAN_PH) && event->field[SCAN_PH].type == SCAN_STRING)
        return true;
    return scan_has(event, SCAN_TS) && scan_has(event, SCAN_NAME);
}

static enum err_kind
add_timed(struct events *events,
          const struct scan_event *event,
          char phase,
          int64_t ts_ns,
          struct err *err)
{
    struct event_mark instant = {ts_ns, event->index};
    switch (phase) {
    case 's':
    case 'f':
        return add_flow(events, event, err);
    case 'i':
    case 'I':
        return column_add(&events->instants, &instant, err);
    case 'B':
        return add_begin(events, event, ts_ns, err);
    case 'E':
        return add_end(events, event, ts_ns, err);
    default:
        return add_complete(events, event, ts_ns, err);
    }
}

enum err_kind
events_add(void *index, const struct scan_event *event, struct err *err)
{
    struct events *events = index;
    int64_t ts_ns;
    if (!is_event_object(event)) {
        events->counts.non_event_objects++;
        return ERR_OK;
    }
    if (event->index > EVENT_MAX_INDEX) {
        events->limit = "max_bytes";
        return err_set(err, ERR_RECORD, "trace_too_large",
                       "the trace has more than 2^36 events");
    }
    events->counts.event_objects++;
    char phase = phase_of(events, event);
    if (phase == 'M' || !scan_given(event, SCAN_TS)) {
        events->counts.metadata++;
        return ERR_OK;
    }
    if (!time_of(events, event->field[SCAN_TS], &ts_ns)) {
        events->counts.bad_number++;
        return ERR_OK;
    }
    return add_timed(events, event, phase, ts_ns, err);
}
