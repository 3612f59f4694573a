/* SPDX-License-Identifier: Apache-2.0 */
/* The array of events: elements, commas, damage. */
#include "scan_fast.h"
#include "scan_state.h"
#include "scan_value.h"

enum err_kind
scan_peek(struct scan *scan, int *ret_byte, struct err *err)
{
    struct window *window = &scan->window;
    for (;;) {
        while (scan->at < window->len && scan_is_space(window->text[scan->at]))
            scan->at++;
        if (scan->at < window->len) {
            *ret_byte = (unsigned char)window->text[scan->at];
            return ERR_OK;
        }
        if (window->is_last) {
            *ret_byte = -1;
            return ERR_OK;
        }
        enum err_kind kind = window_refill(window, window->len, err);
        if (kind)
            return kind;
        scan->at = 0;
    }
}

static void
count_repairs(struct scan_facts *facts, uint32_t repairs)
{
    if (repairs == 0)
        return;
    for (unsigned i = 0; i < SCAN_REPAIRS; i++)
        facts->repairs[i] += repairs >> i & 1;
    facts->repaired_events += (repairs & ~(uint32_t)SCAN_DUPLICATE_KEY) != 0;
}

/* An element that ends at `end` was read. */
static void
pass_element(struct scan *scan, size_t end)
{
    scan->at = end;
    scan->next_index++;
    scan->last_event_end = scan_offset(scan);
}

/* The event's slices lie in the window until the next refill. */
static enum err_kind
take_event(struct scan *scan, struct scan_event *event, size_t end, struct err *err)
{
    event->index = scan->next_index;
    event->offset = scan_offset(scan);
    event->raw = (struct slice){scan->window.text + scan->at, end - scan->at};
    scan->facts->events++;
    count_repairs(scan->facts, event->repairs);
    pass_element(scan, end);
    if (!scan->listener->event)
        return ERR_OK;
    return scan->listener->event(scan->listener->state, event, err);
}

static void
pass_oversized(struct scan *scan, size_t end)
{
    scan->facts->oversized_events++;
    scan->facts->events++;
    pass_element(scan, end);
}

/* ret_need_comma: whether the next element must be set apart by one. */
static enum err_kind
pass_damage(struct scan *scan, bool *ret_need_comma, struct err *err)
{
    struct scan_facts *facts = scan->facts;
    uint64_t offset = scan_offset(scan);
    enum scan_resumed resumed;
    enum err_kind kind = scan_resume(scan, &resumed, err);
    if (kind)
        return kind;
    *ret_need_comma = resumed != RESUMED_AT_EVENT;
    scan->is_truncated = resumed == RESUMED_NOWHERE;
    if (scan->is_truncated)
        return ERR_OK;
    if (facts->damaged_events++ == 0)
        facts->first_damage_offset = offset;
    facts->damaged_bytes += scan_offset(scan) - offset;
    scan->next_index++;
    return ERR_OK;
}

/* The thorough reader's answer on the element at scan->at. */
static enum scan_status
read_element(struct scan *scan,
             struct scan_event *event,
             bool *ret_is_object,
             size_t *ret_end)
{
    struct window *window = &scan->window;
    struct scan_value value;
    const char *end = NULL;
    struct scan_text from = {window->text + scan->at, window->text + window->len,
                             window->is_last};
    enum scan_status status = scan_value_read(from, event, &value, &end, &event->repairs);
    if (status != SCAN_READ)
        return status;
    *ret_is_object = value.type == SCAN_OBJECT;
    *ret_end = (size_t)(end - window->text);
    /* What ends with the text may have been cut, but for an object, which is closed. */
    if (!*ret_is_object && *ret_end == window->len)
        return window->is_last ? SCAN_BROKEN : SCAN_MORE;
    return SCAN_READ;
}

static enum err_kind
more_of_element(struct scan *scan, bool *ret_need_comma, struct err *err)
{
    struct window *window = &scan->window;
    bool is_whole;
    enum err_kind kind;
    if (window->len - scan->at <= scan->max_event) {
        kind = window_refill(window, scan->at, err);
        scan->at = 0;
        *ret_need_comma = false;
        return kind;
    }
    if ((kind = scan_pass_oversized(scan, &is_whole, err)))
        return kind;
    if (!is_whole)
        return pass_damage(scan, ret_need_comma, err);
    pass_oversized(scan, scan->at);
    return ERR_OK;
}

/* Any element but one that the fast reader takes. */
static enum err_kind
pass_hard_element(struct scan *scan, bool *ret_need_comma, struct err *err)
{
    struct scan_event event;
    bool is_object = false;
    size_t end = 0;
    switch (read_element(scan, &event, &is_object, &end)) {
    case SCAN_MORE:
        return more_of_element(scan, ret_need_comma, err);
    case SCAN_BROKEN:
        return pass_damage(scan, ret_need_comma, err);
    case SCAN_READ:
        break;
    }
    if (end - scan->at > scan->max_event) {
        pass_oversized(scan, end);
        return ERR_OK;
    }
    if (is_object)
        return take_event(scan, &event, end, err);
    scan->facts->non_object_elements++;
    pass_element(scan, end);
    return ERR_OK;
}

static enum err_kind
pass_one(struct scan *scan, bool *ret_need_comma, struct err *err)
{
    struct scan_event event;
    size_t end = 0;
    struct scan_marks *marks = scan->listener->marks;
    *ret_need_comma = true;
    if (marks && scan->next_index % SCAN_MARK_EVERY == 0) {
        enum err_kind kind = scan_pass_mark(scan, marks, err);
        if (kind)
            return kind;
    }
    if (scan->window.text[scan->at] == '{')
        end = scan_fast_event(&scan->window, scan->at, &event);
    if (end == 0 || end - scan->at > scan->max_event)
        return pass_hard_element(scan, ret_need_comma, err);
    event.repairs = 0;
    return take_event(scan, &event, end, err);
}

static enum err_kind
pass_array_comma(struct scan *scan, bool need_comma, struct err *err)
{
    int byte;
    scan->at++;
    enum err_kind kind = scan_peek(scan, &byte, err);
    if (kind)
        return kind;
    scan->facts->stray_commas += (uint64_t)!need_comma + (byte == ']');
    return ERR_OK;
}

enum err_kind
scan_array(struct scan *scan, bool is_bare, struct err *err)
{
    bool need_comma = false;
    int byte = 0;
    enum err_kind kind;
    while (!(kind = scan_peek(scan, &byte, err))) {
        if (byte == ']') {
            scan->at++;
            return ERR_OK;
        }
        if (byte < 0) {
            scan->facts->unclosed_array = is_bare;
            scan->is_truncated = !is_bare;
            return ERR_OK;
        }
        if (byte == ',') {
            kind = pass_array_comma(scan, need_comma, err);
            need_comma = false;
        } else {
            scan->facts->missing_commas += need_comma;
            kind = pass_one(scan, &need_comma, err);
        }
        if (kind || scan->is_truncated)
            break;
    }
    return kind;
}
