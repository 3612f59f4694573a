/* SPDX-License-Identifier: Apache-2.0 */
/* Where reading goes on behind damage, and what stands behind a document. */
#include "scan_state.h"
#include "scan_value.h"

#include <string.h>

/* MATCH_LARGE: more than may be held would have to be seen. */
enum match { MATCH_NO, MATCH_YES, MATCH_MORE, MATCH_LARGE };

/* A place in the window that a form is compared with, byte by byte. */
struct cursor {
    const char *at;
    const char *end;
    bool is_last;
    bool is_cut; /* it ran into the end */
};

static struct cursor
cursor_at(const struct window *window, size_t at)
{
    return (struct cursor){.at = window->text + at,
                           .end = window->text + window->len,
                           .is_last = window->is_last};
}

static bool
passes(struct cursor *cursor, char byte)
{
    if (cursor->at == cursor->end) {
        cursor->is_cut = true;
        return false;
    }
    if (*cursor->at != byte)
        return false;
    cursor->at++;
    return true;
}

static void
pass_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && scan_is_space(*cursor->at))
        cursor->at++;
}

static bool
passes_behind_space(struct cursor *cursor, char byte)
{
    pass_space(cursor);
    return passes(cursor, byte);
}

static enum match
no_match(const struct cursor *cursor)
{
    return cursor->is_cut && !cursor->is_last ? MATCH_MORE : MATCH_NO;
}

/* Behind the opening quote: one of the keys that an event begins with. */
static enum match
match_first_key(const struct cursor *cursor)
{
    static const char *const keys[] = {"ph\"",  "cat\"",  "name\"", "ts\"", "pid\"",
                                       "tid\"", "args\"", "id\"",   "dur\""};
    size_t left = (size_t)(cursor->end - cursor->at);
    enum match match = MATCH_NO;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t len = strlen(keys[i]);
        if (memcmp(cursor->at, keys[i], left < len ? left : len) != 0)
            continue;
        if (left >= len)
            return MATCH_YES;
        match = cursor->is_last ? MATCH_NO : MATCH_MORE;
    }
    return match;
}

/* The event-start form at a }: *ret_brace is the { of the event. */
static enum match
match_event_start(const struct window *window, size_t at, size_t *ret_brace)
{
    struct cursor cursor = cursor_at(window, at + 1);
    if (!passes_behind_space(&cursor, ',') || !passes_behind_space(&cursor, '{'))
        return no_match(&cursor);
    *ret_brace = (size_t)(cursor.at - window->text) - 1;
    if (!passes_behind_space(&cursor, '"'))
        return no_match(&cursor);
    return match_first_key(&cursor);
}

/* The end of the array at a }: *ret_bracket is its ]. */
static enum match
match_array_end(const struct window *window, size_t at, size_t *ret_bracket)
{
    struct cursor cursor = cursor_at(window, at + 1);
    if (passes_behind_space(&cursor, ','))
        pass_space(&cursor);
    if (cursor.is_cut || !passes(&cursor, ']'))
        return no_match(&cursor);
    *ret_bracket = (size_t)(cursor.at - window->text) - 1;
    if (passes_behind_space(&cursor, '}'))
        return MATCH_YES;
    if (cursor.is_cut)
        return cursor.is_last ? MATCH_YES : MATCH_MORE;
    if (passes(&cursor, ',') && passes_behind_space(&cursor, '"'))
        return MATCH_YES;
    return no_match(&cursor);
}

/* Does an object read at `brace` that looks like an event? */
static enum match
match_event(const struct scan *scan, size_t brace)
{
    const struct window *window = &scan->window;
    struct scan_event event;
    struct scan_value value;
    const char *end;
    uint32_t repairs;
    struct scan_text from = {window->text + brace, window->text + window->len,
                             window->is_last};
    switch (scan_value_read(from, &event, &value, &end, &repairs)) {
    case SCAN_MORE:
        return window->len - brace > scan->max_event ? MATCH_LARGE : MATCH_MORE;
    case SCAN_BROKEN:
        return MATCH_NO;
    case SCAN_READ:
        break;
    }
    bool is_event = scan_has(&event, SCAN_PH) &&
                    event.field[SCAN_PH].type == SCAN_STRING &&
                    (scan_has(&event, SCAN_TS) || scan_has(&event, SCAN_PID));
    return is_event ? MATCH_YES : MATCH_NO;
}

struct search {
    struct scan *scan;
    size_t at;                   /* where the search goes on */
    struct refusal_number close; /* offset of the first end of the array */
    bool wants_more;             /* of the text behind `at` */
    bool is_found;               /* scan->at is the event */
};

/* The object at `brace` is above the ceiling. */
static enum err_kind
search_large(struct search *search, size_t brace, struct err *err)
{
    struct scan *scan = search->scan;
    scan->at = brace;
    enum err_kind kind = scan_try_oversized(scan, &search->is_found, err);
    search->at = scan->at;
    return kind;
}

/* What the } at search->at begins. */
static enum err_kind
search_here(struct search *search, struct err *err)
{
    struct scan *scan = search->scan;
    struct window *window = &scan->window;
    size_t brace = 0;
    size_t bracket = 0;
    enum match start = match_event_start(window, search->at, &brace);
    enum match end =
        search->close.is_set ? MATCH_NO : match_array_end(window, search->at, &bracket);
    enum match event = start == MATCH_YES ? match_event(scan, brace) : MATCH_NO;
    bool is_space_long = window->len - search->at > FEED_KEEP;
    if (event == MATCH_LARGE)
        return search_large(search, brace, err);
    if (event == MATCH_MORE ||
        (!is_space_long && (start == MATCH_MORE || end == MATCH_MORE))) {
        search->wants_more = true;
        return ERR_OK;
    }
    if (end == MATCH_YES)
        search->close = refusal_number(window->base + bracket);
    search->is_found = event == MATCH_YES;
    if (search->is_found)
        scan->at = brace;
    search->at = start == MATCH_YES ? brace : search->at + 1;
    return ERR_OK;
}

static enum err_kind
search_events(struct search *search, struct err *err)
{
    struct window *window = &search->scan->window;
    for (;;) {
        const char *brace =
            memchr(window->text + search->at, '}', window->len - search->at);
        search->wants_more = false;
        search->at = brace ? (size_t)(brace - window->text) : window->len;
        enum err_kind kind = brace ? search_here(search, err) : ERR_OK;
        if (kind || search->is_found || (!brace && window->is_last))
            return kind;
        if (brace && !search->wants_more)
            continue;
        if ((kind = window_refill(window, search->at, err)))
            return kind;
        search->at = 0;
    }
}

enum err_kind
scan_resume(struct scan *scan, enum scan_resumed *ret_resumed, struct err *err)
{
    struct search search = {.scan = scan, .at = scan->at + 1};
    enum err_kind kind = search_events(&search, err);
    if (kind)
        return kind;
    *ret_resumed = RESUMED_NOWHERE;
    if (search.is_found) {
        *ret_resumed = RESUMED_AT_EVENT;
        window_index_from(&scan->window, scan->at);
        return ERR_OK;
    }
    scan->at = scan->window.len;
    if (!search.close.is_set)
        return ERR_OK;
    *ret_resumed = RESUMED_AT_CLOSE;
    return window_seek(&scan->window, search.close.value, &scan->at, err);
}

/* Strings and brackets alone, to see whether something is closed. */
struct nesting {
    uint64_t depth;
    bool in_string;
    bool is_escaped;
    bool is_closed; /* a bracket closed what was open before */
};

static void
nesting_walk(struct nesting *nesting, const char *at, const char *end)
{
    for (; at < end && !nesting->is_closed; at++) {
        if (nesting->is_escaped)
            nesting->is_escaped = false;
        else if (nesting->in_string && *at == '\\')
            nesting->is_escaped = true;
        else if (*at == '"')
            nesting->in_string = !nesting->in_string;
        else if (nesting->in_string)
            continue;
        else if (*at == '{' || *at == '[')
            nesting->depth++;
        else if (*at == '}' || *at == ']')
            nesting->is_closed = nesting->depth-- == 0;
    }
}

static bool
is_blank(char byte)
{
    return byte == 0 || scan_is_space(byte);
}

/* First and last byte that is not blank, as offsets. */
struct extent {
    bool is_set;
    uint64_t first;
    uint64_t last;
};

static void
extent_add(struct extent *extent, const struct window *window, size_t from)
{
    size_t end = window->len;
    while (end > from && is_blank(window->text[end - 1]))
        end--;
    if (end == from)
        return;
    extent->last = window->base + end - 1;
    if (extent->is_set)
        return;
    while (is_blank(window->text[from]))
        from++;
    extent->first = window->base + from;
    extent->is_set = true;
}

/* Where the next search must begin: at the place that more text would decide. */
static size_t
find_event_start(const struct window *window, size_t at, bool *ret_found)
{
    const char *brace;
    while ((brace = memchr(window->text + at, '}', window->len - at))) {
        size_t here = (size_t)(brace - window->text);
        size_t start;
        enum match match = match_event_start(window, here, &start);
        if (match == MATCH_MORE && window->len - here <= FEED_KEEP)
            return here;
        *ret_found |= match == MATCH_YES;
        at = here + 1;
    }
    return window->len;
}

enum err_kind
scan_pass_rest(struct scan *scan, struct scan_rest *ret_rest, struct err *err)
{
    struct window *window = &scan->window;
    struct nesting nesting = {0};
    struct extent extent = {0};
    uint64_t seen = scan_offset(scan);
    *ret_rest = (struct scan_rest){0};
    for (;;) {
        size_t fresh = (size_t)(seen - window->base);
        nesting_walk(&nesting, window->text + fresh, window->text + window->len);
        extent_add(&extent, window, fresh);
        seen = window->base + window->len;
        size_t keep = ret_rest->has_events
                          ? window->len
                          : find_event_start(window, scan->at, &ret_rest->has_events);
        if (window->is_last)
            break;
        enum err_kind kind = window_refill(window, keep, err);
        if (kind)
            return kind;
        scan->at = 0;
    }
    scan->at = window->len;
    ret_rest->is_open = !nesting.is_closed;
    ret_rest->bytes = extent.is_set ? extent.last + 1 - extent.first : 0;
    return ERR_OK;
}
