/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner on every hostile trace that was seen or reported, and on ordinary ones. */
#include "scan.h"

#include "buf.h"
#include "text_feed.h"

#include "unit.h"

enum { MANY = 20000, NAMES = 4096 };

/* What a scan told, names and ts one after the other. */
struct told {
    struct scan_answer answer;
    struct buf names;
    struct buf raw;
    struct buf headers;
    uint64_t n;
    uint64_t last_index;
    unsigned rewinds;
};

static void
told_done(struct told *told)
{
    buf_done(&told->names);
    buf_done(&told->raw);
    buf_done(&told->headers);
}

static enum err_kind
tell_event(void *state, const struct scan_event *event, struct err *err)
{
    struct told *told = state;
    (void)err;
    told->n++;
    told->last_index = event->index;
    if (told->names.len < NAMES) {
        if (scan_has(event, SCAN_NAME))
            scan_add_text(&told->names, event->field[SCAN_NAME]);
        buf_add_byte(&told->names, '|');
        scan_add_repaired(&told->raw, event->raw, event->repairs);
    }
    return ERR_OK;
}

static enum err_kind
tell_header(void *state,
            struct slice key,
            struct slice value,
            uint32_t repairs,
            bool is_after,
            struct err *err)
{
    struct told *told = state;
    (void)err;
    buf_add_byte(&told->headers, is_after ? '>' : '<');
    scan_add_repaired(&told->headers, key, repairs);
    buf_add_byte(&told->headers, '=');
    scan_add_repaired(&told->headers, value, repairs);
    return ERR_OK;
}

struct how {
    size_t piece;
    bool salvage;
    uint64_t max_event;
    struct scan_marks *marks;
};

static struct told
scan_with(struct slice text, struct how how)
{
    struct told told = {0};
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    if (how.max_event)
        limits.max_event_bytes = how.max_event;
    struct text_feed *pieces = text_feed_new(text, how.piece);
    struct feed feed = text_feed_feed(pieces);
    struct scan_listener listener = {
        .state = &told, .marks = how.marks, .event = tell_event, .header = tell_header};
    assert_int_equal(scan_run(&feed, &listener, &limits, how.salvage, &told.answer, NULL),
                     ERR_OK);
    told.rewinds = pieces->rewinds;
    text_feed_free(pieces);
    return told;
}

static struct told
scan_text(const char *text)
{
    return scan_with(slice_of(text), (struct how){0});
}

static struct told
salvage_text(const char *text)
{
    return scan_with(slice_of(text), (struct how){.salvage = true});
}

static void
assert_names(struct told *told, const char *names)
{
    assert_null(told->answer.refusal.code);
    assert_string_equal(buf_text(&told->names), names);
}

static void
assert_refused(const struct told *told, const char *code)
{
    assert_non_null(told->answer.refusal.code);
    assert_string_equal(told->answer.refusal.code, code);
}

static void
assert_offset(const struct told *told, uint64_t offset)
{
    assert_true(told->answer.refusal.offset.is_set);
    assert_int_equal(told->answer.refusal.offset.value, offset);
}

#define EVENT(name)   "{\"ph\": \"X\", \"name\": \"" name "\", \"ts\": 1, \"dur\": 2}"
#define TRACE(events) "{\"traceEvents\": [" events "]}"

/* Events as Kineto lays them out; the one in the middle has `odd` for a name. */
static void
build_many(struct buf *out, const char *odd)
{
    buf_add_str(out, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    for (int i = 0; i < MANY; i++)
        buf_addf(out,
                 "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", "
                 "\"pid\": 851, \"tid\": 851,\n    \"ts\": %d.%03d, \"dur\": 2.500,\n"
                 "    \"args\": {\n      \"External id\": %d,\"Ev Idx\": %d, "
                 "\"Input Dims\": [[8192, 4096], [], []]\n    }\n  }%s\n",
                 odd && i == MANY / 2 ? odd : "aten::mm", i, i % 1000, i, i,
                 i < MANY - 1 ? "," : "");
    buf_add_str(out, "  ],\n  \"traceName\": \"x.json\"\n}\n");
}

static void
reads_every_event_of_a_large_trace(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    build_many(&text, NULL);

    CLEANUP(told_done) struct told told = scan_with(buf_slice(&text), (struct how){0});

    assert_null(told.answer.refusal.code);
    assert_int_equal(told.n, MANY);
    assert_int_equal(told.answer.facts.keys_before, 1);
    assert_int_equal(told.answer.facts.keys_after, 1);
    assert_string_equal(buf_text(&told.headers),
                        "<\"schemaVersion\"=1>\"traceName\"=\"x.json\"");
}

/* One event is lost, with its bytes, and none behind it. */
static void
assert_one_lost(const char *odd)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    build_many(&text, odd);

    CLEANUP(told_done) struct told told = scan_with(buf_slice(&text), (struct how){0});

    assert_null(told.answer.refusal.code);
    assert_int_equal(told.n, MANY - 1);
    assert_int_equal(told.last_index, MANY - 1);
    assert_int_equal(told.answer.facts.damaged_events, 1);
    assert_in_range(told.answer.facts.damaged_bytes, 180, 260);
    const char *first = text.data + told.answer.facts.first_damage_offset;
    assert_memory_equal(first, "{\n    \"ph\"", 10);
}

static void
loses_one_event_to_an_odd_raw_quote(void **state)
{
    (void)state;
    assert_one_lost("op \"x");
}

static void
loses_one_event_to_two_raw_quotes(void **state)
{
    (void)state;
    assert_one_lost("op \"x\" y");
}

static void
loses_one_event_to_a_backslash_before_the_closing_quote(void **state)
{
    (void)state;
    assert_one_lost("C:\\dir\\");
}

static void
loses_one_event_to_a_bracket_that_never_closes(void **state)
{
    (void)state;
    assert_one_lost("x\", \"y\": [[1, 2], \"z\": \"");
}

static void
takes_escaped_quotes_and_brackets_in_strings(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_text(TRACE(EVENT("a\\\"b") "," EVENT("c\\\\") "," EVENT(
        "}, {]") "," EVENT("\\u00e9\\ud83d\\ude00")));

    assert_names(&told, "a\"b|c\\|}, {]|\xc3\xa9\xf0\x9f\x98\x80|");
    assert_int_equal(told.answer.facts.repaired_events, 0);
}

static void
repairs_what_may_be_repaired_and_counts_it_once_an_event(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_text(TRACE(EVENT("a\tb\nc") "," EVENT(
        "C:\\dir\\x") ","
                      "{\"ph\": \"X\", \"name\": \"n\", \"ts\": NaN, \"dur\": -inf, "
                      "\"a\": iNfinity},"
                      "{\"ph\": \"X\", \"name\": \"t\", \"args\": {\"x\": [1, ], \"y\": "
                      "2 , }}," EVENT("\xff\xfe\xe2\x82"
                                      "A")));

    const struct scan_facts *facts = &told.answer.facts;
    assert_names(&told, "a\tb\nc|C:\\dir\\x|n|t|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbd"
                        "A|");
    assert_int_equal(facts->repaired_events, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(facts->repairs[i], 1);
    assert_non_null(strstr(buf_text(&told.raw), "a\\u0009b\\u000ac"));
    assert_non_null(strstr(buf_text(&told.raw), "C:\\\\dir\\\\x"));
    assert_non_null(
        strstr(buf_text(&told.raw), "\"ts\": null, \"dur\": null, \"a\": null}"));
    assert_non_null(strstr(buf_text(&told.raw), "{\"x\": [1 ], \"y\": 2  }"));
}

static void
takes_the_last_of_two_equal_keys_and_counts_it(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_text(
        TRACE("{\"ph\": \"X\", \"name\": \"first\", \"n\\u0061me\": \"last\"}"));

    assert_names(&told, "last|");
    assert_int_equal(told.answer.facts.repairs[5], 1);
    assert_int_equal(told.answer.facts.repaired_events, 0);
}

static void
takes_a_byte_order_mark_and_any_line_ends(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_text("\xef\xbb\xbf{\r\n\"traceEvents\"\r\n:\r\n[\r\n" EVENT(
        "a") "\r\n,\r\n" EVENT("b") "\r\n]\r\n}\r\n");

    assert_names(&told, "a|b|");
    assert_true(told.answer.facts.bom);
}

static void
takes_a_bare_array_closed_or_not(void **state)
{
    (void)state;
    CLEANUP(told_done) struct told closed = scan_text("[" EVENT("a") "]");
    CLEANUP(told_done) struct told open = scan_text("[" EVENT("a") ",\n");

    assert_names(&closed, "a|");
    assert_true(closed.answer.facts.is_array);
    assert_false(closed.answer.facts.unclosed_array);
    assert_names(&open, "a|");
    assert_true(open.answer.facts.unclosed_array);
}

static void
counts_commas_that_are_missing_or_too_many(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_text(TRACE(EVENT("a") EVENT("b") ",," EVENT("c") ","));

    assert_names(&told, "a|b|c|");
    assert_int_equal(told.answer.facts.missing_commas, 1);
    assert_int_equal(told.answer.facts.stray_commas, 2);
}

static void
finds_the_array_by_reading_keys_not_text(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_text(
        "{\"note\": \"\\\"traceEvents\\\": [\", \"deep\": {\"traceEvents\": [" EVENT(
            "no") "]}, \"traceEvents\": [" EVENT("yes") "], \"after\": {\"x\": [1]}}");

    assert_names(&told, "yes|");
    assert_int_equal(told.answer.facts.keys_before, 2);
    assert_int_equal(told.answer.facts.keys_after, 1);
}

static void
goes_on_behind_damage_in_any_layout(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told minified = scan_text(
        "[{\"ts\":1,\"ph\":\"X\",\"name\":\"a\"},{\"name\":\"b\"x\",\"ph\":\"X\"},"
        "{\"args\":{},\"ts\":1,\"ph\":\"X\",\"name\":\"c\"}]");
    CLEANUP(told_done)
    struct told spread =
        scan_text("[\n{ \"ph\" : \"X\" , \"name\" : \"a\" }\n,\n{ \"ph\" : \"X\" "
                  "\"name\" : 1 }\n,\n"
                  "{\n\"pid\" : 1 , \"ph\" : \"X\" , \"name\" : \"c\" }\n]");

    assert_names(&minified, "a|c|");
    assert_names(&spread, "a|c|");
    assert_int_equal(minified.answer.facts.damaged_events, 1);
    assert_int_equal(spread.answer.facts.damaged_events, 1);
}

/* The end of the array is known only at the end of the text: back to it. */
static void
closes_the_array_behind_a_damaged_last_event(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told = scan_with(
        slice_of("{\"traceEvents\": [" EVENT("a") ", {\"ph\": \"X\" 1}], \"z\": [2]}"),
        (struct how){.piece = 5});

    assert_names(&told, "a|");
    assert_int_equal(told.answer.facts.damaged_events, 1);
    assert_string_equal(buf_text(&told.headers), ">\"z\"=[2]");
    assert_int_equal(told.rewinds, 2);
}

static void
refuses_too_much_damage_unless_it_may_salvage(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    buf_add_str(&text, "[");
    for (int i = 0; i < 17; i++)
        buf_add_str(&text, EVENT("a") ", {\"ph\" 1}, ");
    buf_add_str(&text, EVENT("z") "]");

    CLEANUP(told_done) struct told told = scan_with(buf_slice(&text), (struct how){0});
    CLEANUP(told_done)
    struct told salvaged = scan_with(buf_slice(&text), (struct how){.salvage = true});

    assert_refused(&told, "trace_corrupt");
    assert_int_equal(told.answer.refusal.damaged_events.value, 17);
    assert_string_equal(told.answer.refusal.option, "salvage");
    assert_null(salvaged.answer.refusal.code);
    assert_int_equal(salvaged.n, 18);
}

static void
refuses_half_a_file_with_the_place_and_keeps_it_on_salvage(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    build_many(&text, NULL);
    struct slice half = {text.data, text.len / 2};

    CLEANUP(told_done) struct told told = scan_with(half, (struct how){0});
    CLEANUP(told_done)
    struct told salvaged = scan_with(half, (struct how){.salvage = true});

    assert_refused(&told, "trace_truncated");
    assert_int_equal(told.answer.refusal.events.value, told.n);
    assert_in_range(told.n, MANY / 2 - 100, MANY / 2 + 100);
    uint64_t offset = told.answer.refusal.offset.value;
    assert_memory_equal(text.data + offset - 3, "  }", 3);
    assert_in_range(half.len - offset, 0, 260);
    assert_null(salvaged.answer.refusal.code);
    assert_true(salvaged.answer.facts.salvaged);
    assert_int_equal(salvaged.answer.facts.truncated_at.value, offset);
}

static void
puts_an_event_together_that_is_larger_than_the_window(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    buf_add_str(&text, "[" EVENT("a") ", {\"ph\": \"X\", \"ts\": 1, \"name\": \"");
    for (int i = 0; i < 2000000; i++)
        buf_add_byte(&text, 'n');
    buf_add_str(&text, "\"}, " EVENT("c") "]");

    CLEANUP(told_done) struct told told = scan_with(buf_slice(&text), (struct how){0});

    assert_null(told.answer.refusal.code);
    assert_int_equal(told.n, 3);
    assert_int_equal(told.names.len, 2000000 + 3);
}

static void
skips_an_event_above_the_cap_and_keeps_its_index(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    buf_add_str(&text, "[" EVENT("a") ", {\"ph\": \"X\", \"ts\": 1, \"args\": {\"x\": [");
    for (int i = 0; i < 300000; i++)
        buf_add_str(&text, "{\"k\": -1.5e3}, ");
    buf_add_str(&text, "true], \"s\": \"\\\"}\"}}, " EVENT("c") "]");

    for (size_t piece = 1000; piece <= 300000; piece *= 300) {
        CLEANUP(told_done)
        struct told told = scan_with(
            buf_slice(&text), (struct how){.max_event = 100000, .piece = piece % 262144});

        assert_names(&told, "a|c|");
        assert_int_equal(told.answer.facts.oversized_events, 1);
        assert_int_equal(told.answer.facts.events, 3);
        assert_int_equal(told.last_index, 2);
    }
}

/* Odd elements of every kind between the events, so that the counts differ by place. */
static void
build_marked(struct buf *out)
{
    buf_add_str(out, "{\"a\": 1, \"traceEvents\": [");
    for (int i = 0; i < 5 * SCAN_MARK_EVERY + 100; i++) {
        const char *odd = i % 1000 == 7    ? "{\"ph\": \"X\" 1}"
                          : i % 1000 == 8  ? "12"
                          : i % 1000 == 9  ? "{\"name\": \"x\", \"ts\": nan}"
                          : i % 1000 == 10 ? ""
                                           : NULL;
        buf_add_str(out, i ? ", " : "");
        if (odd)
            buf_add_str(out, odd);
        else
            buf_addf(out, "{\"ph\": \"X\", \"name\": \"%d\", \"ts\": 1}", i);
    }
    buf_add_str(out, "], \"z\": 2}");
}

static void
goes_past_what_is_not_wanted_and_finds_the_same(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text;
    buf_init(&text, SIZE_MAX);
    build_marked(&text);
    for (size_t piece = 100; piece <= 100000; piece *= 1000) {
        CLEANUP(scan_marks_done) struct scan_marks marks = {0};
        struct how how = {.piece = piece, .marks = &marks};
        CLEANUP(told_done) struct told whole = scan_with(buf_slice(&text), how);
        assert_null(whole.answer.refusal.code);
        assert_int_equal(marks.n, 6);

        marks.items[2].is_wanted = true;
        marks.are_used = true;
        CLEANUP(told_done) struct told part = scan_with(buf_slice(&text), how);

        /* Those behind the mark that is wanted, and behind the last one. */
        assert_in_range(part.n, SCAN_MARK_EVERY, SCAN_MARK_EVERY + 100);
        assert_int_equal(part.last_index, whole.last_index);
        assert_string_equal(buf_text(&part.headers), buf_text(&whole.headers));
        assert_memory_equal(&part.answer.facts, &whole.answer.facts,
                            sizeof whole.answer.facts);
    }
}

/* A broken one is damage, whose bytes are reported, not an event that was skipped. */
static void
tells_a_broken_event_above_the_cap_from_a_whole_one(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    buf_add_str(&text, "[" EVENT("a") ", {\"ph\": \"X\", \"ts\": 1, \"args\": [");
    for (int i = 0; i < 3000; i++)
        buf_add_str(&text, "[1, 2], ");
    buf_add_str(&text, "3 4]}, " EVENT("c") "]");

    CLEANUP(told_done)
    struct told told =
        scan_with(buf_slice(&text), (struct how){.max_event = 1000, .piece = 512});

    assert_names(&told, "a|c|");
    assert_int_equal(told.answer.facts.oversized_events, 0);
    assert_int_equal(told.answer.facts.damaged_events, 1);
    assert_in_range(told.answer.facts.damaged_bytes, 24000, 24100);
}

/* Reading goes on at it, whether it is seen whole or not; what merely looks like one of
 * its keys does not count. */
static void
goes_on_at_an_event_above_the_cap(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        bool is_event;
    } cases[] = {
        {"\"\\u0070h\": \"X\", \"p\\u0069d\": 1", true},
        {"\"ts\": 1, \"x\": {\"ph\": \"X\"}", false},
        {"\"ph\": \"X\", \"args\": {\"ts\": 1}", false},
        {"\"ts\": 1, \"ph\": \"X\", \"ph\": 1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        buf_add_str(&text, "[{\"ph\": \"X\" 1}, {\"name\": \"");
        for (int n = 0; n < 3000; n++)
            buf_add_str(&text, "}, {");
        buf_addf(&text, "\", %s}, " EVENT("c") "]", cases[i].keys);
        for (size_t piece = 300; piece <= 30000; piece *= 100) {
            CLEANUP(told_done)
            struct told told = scan_with(buf_slice(&text),
                                         (struct how){.max_event = 1000, .piece = piece});

            assert_names(&told, "c|");
            assert_int_equal(told.answer.facts.damaged_events, 1);
            assert_int_equal(told.answer.facts.oversized_events, cases[i].is_event);
        }
    }
}

static void
add_nested(struct buf *out, int levels)
{
    buf_add_str(out, "{\"ph\": \"X\", \"name\": \"d\", \"ts\": 1, \"args\": ");
    for (int i = 1; i < levels; i++)
        buf_add_str(out, i % 2 ? "[" : "{\"a\":");
    if (levels % 2)
        buf_add_str(out, "\"b\": 1");
    for (int i = levels - 1; i > 0; i--)
        buf_add_str(out, i % 2 ? "]" : "}");
    buf_add_str(out, "}");
}

static void
reads_256_levels_and_no_more(void **state)
{
    (void)state;
    for (int levels = 256; levels <= 258; levels += 2) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        buf_add_str(&text, "[" EVENT("a") ", ");
        add_nested(&text, levels);
        buf_add_str(&text, ", " EVENT("c") "]");

        CLEANUP(told_done)
        struct told told = scan_with(buf_slice(&text), (struct how){0});

        assert_names(&told, levels == 256 ? "a|d|c|" : "a|c|");
        assert_int_equal(told.answer.facts.damaged_events, levels > 256);
    }
}

static void
skips_elements_that_are_no_objects_and_counts_their_places(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told told =
        scan_text(TRACE("1, null, \"x\", [2, {\"a\": 3}], -1.5e3, " EVENT("a")));

    assert_names(&told, "a|");
    assert_int_equal(told.answer.facts.non_object_elements, 5);
    assert_int_equal(told.last_index, 5);
}

static void
ignores_bytes_behind_the_document_unless_events_begin_in_them(void **state)
{
    (void)state;
    CLEANUP(told_done) struct told nulls = scan_text(TRACE(EVENT("a")) "\n\n");
    CLEANUP(told_done) struct told other = scan_text(TRACE(EVENT("a")) " bye ");
    const char *two = TRACE(EVENT("a")) TRACE(EVENT("b") "," EVENT("c"));
    CLEANUP(told_done) struct told second = scan_text(two);
    CLEANUP(told_done) struct told salvaged = salvage_text(two);

    assert_int_equal(nulls.answer.facts.trailing_bytes, 0);
    assert_names(&other, "a|");
    assert_int_equal(other.answer.facts.trailing_bytes, 3);
    assert_refused(&second, "trace_corrupt");
    assert_offset(&second, sizeof(TRACE(EVENT("a"))) - 1);
    assert_names(&salvaged, "a|");
    assert_true(salvaged.answer.facts.events_behind_the_end.is_set);
}

static void
refuses_what_is_no_trace_and_says_where(void **state)
{
    (void)state;
    CLEANUP(told_done) struct told empty = scan_text("");
    CLEANUP(told_done)
    struct told blank = scan_with((struct slice){" \0\n\0\t", 5}, (struct how){0});
    CLEANUP(told_done) struct told text = scan_text("  hello");
    CLEANUP(told_done) struct told other = scan_text("{\"nodes\": []}");
    CLEANUP(told_done) struct told object = scan_text("{\"traceEvents\": {\"a\": 1}}");
    CLEANUP(told_done) struct told none = scan_text(TRACE(""));
    CLEANUP(told_done) struct told numbers = scan_text("[1, 2, 3]");

    assert_refused(&empty, "trace_empty");
    assert_int_equal(empty.answer.refusal.bytes.value, 0);
    assert_refused(&blank, "trace_empty");
    assert_int_equal(blank.answer.refusal.bytes.value, 5);
    assert_refused(&text, "not_a_trace");
    assert_offset(&text, 2);
    assert_refused(&other, "not_a_trace");
    assert_refused(&object, "not_a_trace");
    assert_offset(&object, 16);
    assert_refused(&none, "no_events");
    assert_refused(&numbers, "not_a_trace");
}

static void
tells_a_broken_key_from_a_cut_one(void **state)
{
    (void)state;
    CLEANUP(told_done)
    struct told before = scan_text("{\"a\": 1 2, \"traceEvents\": [" EVENT("a") "]}");
    CLEANUP(told_done) struct told cut = scan_text("{\"a\": {\"b\": ");
    CLEANUP(told_done)
    struct told twice =
        scan_text("{\"traceEvents\": [" EVENT("a") "], \"traceEvents\": []}");
    CLEANUP(told_done)
    struct told after = scan_text("{\"traceEvents\": [" EVENT("a") "], \"z\": tru}");

    assert_refused(&before, "trace_corrupt");
    assert_offset(&before, 8);
    assert_refused(&cut, "trace_truncated");
    assert_offset(&cut, 0);
    assert_refused(&twice, "trace_corrupt");
    assert_names(&after, "a|");
    assert_int_equal(after.answer.facts.damaged_header_keys, 1);
}

static void
tells_the_same_however_the_text_is_cut(void **state)
{
    (void)state;
    const char *text =
        "\xef\xbb\xbf{\"k\": {\"a\": [1, NaN, \"\\u00e9\\\\\"]},\n \"traceEvents\": "
        "[\n" EVENT("a\\\"") ",\n 12, {\"ph\": \"X\", \"ts\": -1.5e+3, \"name\": "
                             "\"\xc3\xa9\xf0\x9f\x98\x80\xff\", \"args\": {\"stream\": "
                             "7, \"grid\": [1, 2,]}}, "
                             "nan " EVENT("b\"x") ", " EVENT("ok") ", " EVENT(
                                 "c\\") ",\n " EVENT("d") "\n], \"z\": \"tail\"}\n\n";
    CLEANUP(told_done) struct told whole = scan_text(text);
    assert_null(whole.answer.refusal.code);
    assert_int_equal(whole.answer.facts.damaged_events, 2);

    for (size_t piece = 1; piece < 80; piece++) {
        CLEANUP(told_done)
        struct told told = scan_with(slice_of(text), (struct how){.piece = piece});

        assert_string_equal(buf_text(&told.names), buf_text(&whole.names));
        assert_string_equal(buf_text(&told.headers), buf_text(&whole.headers));
        assert_memory_equal(&told.answer.facts, &whole.answer.facts,
                            sizeof whole.answer.facts);
    }
}

static void
prints_values_compactly_as_the_model_does(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    scan_add_compact(&out, slice_of("[ [1, -0, 2.0],\n [1e16, 1e5, 0.00001, 1.5e-7, "
                                    "123456789.125], [NaN, true, null,], \"a\\/\\u00e9"
                                    "\x7f\xc3\xa9\xf0\x9f\x98\x80\t\", {\"k\" : []} ]"));

    assert_string_equal(buf_text(&out),
                        "[[1,0,2.0],[1e+16,100000.0,1e-05,1.5e-07,123456789.125],[null,"
                        "true,null],\"a/\\u00e9\\u007f\\u00e9\\ud83d\\ude00\\t\","
                        "{\"k\":[]}]");
}

static void
prints_the_last_of_equal_keys_where_the_first_stood(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
        {"[{\"a\":[1,{\"x\":1}],\"a\":{\"y\":1,\"y\":[2,3]}}]",
         "[{\"a\":{\"y\":[2,3]}}]"},
        {"{\"a,}\":1,\"\\u0061,}\":\"}\\\"{\",\"c\":{}}",
         "{\"a,}\":\"}\\\"{\",\"c\":{}}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{}", "{}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        scan_add_compact(&out, slice_of(rows[i][0]));
        assert_string_equal(buf_text(&out), rows[i][1]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_the_last_of_equal_keys_where_the_first_stood),
        cmocka_unit_test(reads_every_event_of_a_large_trace),
        cmocka_unit_test(loses_one_event_to_an_odd_raw_quote),
        cmocka_unit_test(loses_one_event_to_two_raw_quotes),
        cmocka_unit_test(loses_one_event_to_a_backslash_before_the_closing_quote),
        cmocka_unit_test(loses_one_event_to_a_bracket_that_never_closes),
        cmocka_unit_test(takes_escaped_quotes_and_brackets_in_strings),
        cmocka_unit_test(repairs_what_may_be_repaired_and_counts_it_once_an_event),
        cmocka_unit_test(takes_the_last_of_two_equal_keys_and_counts_it),
        cmocka_unit_test(takes_a_byte_order_mark_and_any_line_ends),
        cmocka_unit_test(takes_a_bare_array_closed_or_not),
        cmocka_unit_test(counts_commas_that_are_missing_or_too_many),
        cmocka_unit_test(finds_the_array_by_reading_keys_not_text),
        cmocka_unit_test(goes_on_behind_damage_in_any_layout),
        cmocka_unit_test(closes_the_array_behind_a_damaged_last_event),
        cmocka_unit_test(refuses_too_much_damage_unless_it_may_salvage),
        cmocka_unit_test(refuses_half_a_file_with_the_place_and_keeps_it_on_salvage),
        cmocka_unit_test(puts_an_event_together_that_is_larger_than_the_window),
        cmocka_unit_test(skips_an_event_above_the_cap_and_keeps_its_index),
        cmocka_unit_test(tells_a_broken_event_above_the_cap_from_a_whole_one),
        cmocka_unit_test(goes_on_at_an_event_above_the_cap),
        cmocka_unit_test(goes_past_what_is_not_wanted_and_finds_the_same),
        cmocka_unit_test(reads_256_levels_and_no_more),
        cmocka_unit_test(skips_elements_that_are_no_objects_and_counts_their_places),
        cmocka_unit_test(ignores_bytes_behind_the_document_unless_events_begin_in_them),
        cmocka_unit_test(refuses_what_is_no_trace_and_says_where),
        cmocka_unit_test(tells_a_broken_key_from_a_cut_one),
        cmocka_unit_test(tells_the_same_however_the_text_is_cut),
        cmocka_unit_test(prints_values_compactly_as_the_model_does),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
