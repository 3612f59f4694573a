/* SPDX-License-Identifier: Apache-2.0 */
/* What a tune.log says. */
#include "logscan.h"

#include "json.h"
#include "notes.h"
#include "text.h"
#include "unicode.h"

#include <stdint.h>

enum { ESCAPE = 0x1B, HEADER_EXIT_DIGITS = 9, FIRST_PROGS = 64, FIRST_SOURCES = 4 };
enum { QUESTIONS_WITHOUT_TABLE = 8 };

/* `with` is not empty. */
static inline bool
begins(struct slice text, struct slice with)
{
    return text.len >= with.len && text.data[0] == with.data[0] &&
           memcmp(text.data, with.data, with.len) == 0;
}

static struct slice
behind(struct slice text, size_t n)
{
    return (struct slice){text.data + n, text.len - n};
}

static inline bool
take(struct slice *text, struct slice word)
{
    if (!begins(*text, word))
        return false;
    *text = behind(*text, word.len);
    return true;
}

/* Bytes of the CSI escape at the beginning of `text`, 0 when there is none. */
static size_t
csi_len(struct slice text)
{
    if (text.len < 3 || text.data[0] != ESCAPE || text.data[1] != '[')
        return 0;
    size_t i = 2;
    while (i < text.len && ((text.data[i] >= '0' && text.data[i] <= '9') ||
                            text.data[i] == ';' || text.data[i] == '?'))
        i++;
    while (i < text.len && text.data[i] >= ' ' && text.data[i] <= '/')
        i++;
    return i < text.len && text.data[i] >= '@' && text.data[i] <= '~' ? i + 1 : 0;
}

/* No escape holds a line feed, so the whole text can be cleaned before it is cut. */
static struct slice
without_csi(struct slice text, struct arena *arena)
{
    if (text.len == 0 || !memchr(text.data, ESCAPE, text.len))
        return text;
    char *clean = arena_alloc(arena, text.len);
    if (!clean)
        return (struct slice){NULL, 0};
    size_t len = 0;
    while (text.len) {
        size_t skip = csi_len(text);
        const char *next = skip ? NULL : memchr(text.data + 1, ESCAPE, text.len - 1);
        size_t keep = skip ? 0 : next ? (size_t)(next - text.data) : text.len;
        memcpy(clean + len, text.data, keep);
        len += keep;
        text = behind(text, skip + keep);
    }
    return (struct slice){clean, len};
}

/* The next line of `*rest`; false behind the last. */
static inline bool
next_raw_line(struct slice *rest, struct slice *ret_line)
{
    if (!rest->data)
        return false;
    const char *feed = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    size_t len = feed ? (size_t)(feed - rest->data) : rest->len;
    *ret_line = (struct slice){rest->data, len};
    *rest = feed ? behind(*rest, len + 1) : (struct slice){NULL, 0};
    return true;
}

/* The same without white space at its end. */
static inline bool
next_line(struct slice *rest, struct slice *ret_line)
{
    if (!next_raw_line(rest, ret_line))
        return false;
    *ret_line = unicode_strip_end(*ret_line);
    return true;
}

static size_t
digits(struct slice text)
{
    size_t n = 0;
    while (n < text.len && text.data[n] >= '0' && text.data[n] <= '9')
        n++;
    return n;
}

/* JSON has no leading zeros. */
static struct slice
without_zeros(struct slice number)
{
    while (number.len > 1 && number.data[0] == '0' && number.data[1] >= '0' &&
           number.data[1] <= '9')
        number = behind(number, 1);
    return number;
}

/* `PHRASE: ARGS`: false when the line goes on differently. */
static bool
phrase_args(struct slice line, struct slice phrase, struct slice *ret_args)
{
    if (!take(&line, phrase) || line.len == 0)
        return false;
    *ret_args = line;
    return true;
}

/* "X: invalid ...", "X: expected ..." or "X: not allowed ..." with an X. */
static bool
is_bad_value(struct slice rest)
{
    static const struct slice causes[] = {
        {"invalid", 7}, {"expected", 8}, {"not allowed", 11}};
    for (size_t i = 1; i + 1 < rest.len; i++) {
        const char *colon = memchr(rest.data + i, ':', rest.len - i);
        if (!colon)
            return false;
        i = (size_t)(colon - rest.data);
        for (size_t k = 0; k < sizeof causes / sizeof causes[0]; k++)
            if (i + 2 <= rest.len && colon[1] == ' ' &&
                begins(behind(rest, i + 2), causes[k]))
                return true;
    }
    return false;
}

/* What stands behind "PROG: error: ". */
static bool
argparse_refusal(struct slice rest, struct rejection *ret_rejection)
{
    struct slice args;
    const char *kind = NULL;
    if (phrase_args(rest, SLICE("unrecognized arguments: "), &args))
        kind = "unrecognized_arguments";
    else if (phrase_args(rest, SLICE("argument "), &args) && is_bad_value(args))
        kind = "bad_value";
    else if (phrase_args(rest, SLICE("the following arguments are required: "), &args))
        kind = "missing_required";
    else if (phrase_args(rest, SLICE("ambiguous option: "), &args))
        kind = "ambiguous_option";
    if (!kind)
        return false;
    ret_rejection->kind = kind;
    ret_rejection->args = args;
    return true;
}

/* Up to the first white space or colon. */
static size_t
prog_len(struct slice line)
{
    const char *end = line.data + line.len;
    const char *at = line.data;
    while (at < end) {
        const char *next = at;
        uint32_t point = text_next(&next, end);
        if (point == ':' || unicode_is_space(point))
            break;
        at = next;
    }
    return (size_t)(at - line.data);
}

static bool
argparse_line(struct slice line, struct rejection *ret_rejection)
{
    struct slice prog = {line.data, prog_len(line)};
    struct slice rest = behind(line, prog.len);
    if (prog.len == 0 || !take(&rest, SLICE(": error: ")))
        return false;
    ret_rejection->prog = prog;
    return argparse_refusal(rest, ret_rejection);
}

static bool
click_line(struct slice line, struct rejection *ret_rejection)
{
    static const struct slice phrases[] = {
        {"No such option: ", 16},
        {"No such option ", 15},
        {"Invalid value for ", 18},
        {"Missing option ", 15},
    };
    if (!take(&line, SLICE("Error: ")))
        return false;
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (phrase_args(line, phrases[i], &ret_rejection->args)) {
            ret_rejection->kind = "cli_option";
            ret_rejection->prog = (struct slice){NULL, 0};
            return true;
        }
    return false;
}

enum err_kind
rejection_find(struct slice text,
               struct arena *arena,
               struct rejection *ret_rejection,
               struct err *err)
{
    *ret_rejection = (struct rejection){0};
    if (text.len == 0)
        return ERR_OK;
    struct slice rest = without_csi(text, arena);
    if (!rest.data)
        return audit_full(err);
    struct slice line;
    while (next_line(&rest, &line)) {
        struct rejection found = {0};
        if (click_line(line, &found) || argparse_line(line, &found)) {
            *ret_rejection = found;
            return ERR_OK;
        }
    }
    return ERR_OK;
}

/* Where the name of a program was seen. */
struct prog_source {
    struct slice words;
    bool is_usage; /* only the first word, as it is; else each word's last path part */
};

/*
 * Names that may stand before ": error: ". Where they stand is remembered; the first few
 * questions look there, then a table of slices, open to linear probing, is filled, so a
 * log of many such lines costs no more.
 */
struct progs {
    struct arena *arena;
    struct prog_source *sources;
    size_t n_sources, cap_sources;
    size_t n_asked;
    struct slice *slots;
    size_t n, cap;
};

static bool
progs_note(struct progs *progs, struct slice words, bool is_usage)
{
    if (progs->n_sources == progs->cap_sources) {
        size_t cap = progs->cap_sources ? progs->cap_sources * 2 : FIRST_SOURCES;
        struct prog_source *sources = arena_alloc(progs->arena, cap * sizeof *sources);
        if (!sources)
            return false;
        if (progs->n_sources)
            memcpy(sources, progs->sources, progs->n_sources * sizeof *sources);
        progs->sources = sources;
        progs->cap_sources = cap;
    }
    progs->sources[progs->n_sources++] = (struct prog_source){words, is_usage};
    return true;
}

static size_t
slot_of(const struct progs *progs, struct slice name)
{
    uint64_t hash = 1469598103934665603U;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.data[i]) * 1099511628211U;
    size_t slot = (size_t)(hash ^ hash >> 32) & (progs->cap - 1);
    while (progs->slots[slot].data && !slice_equal(progs->slots[slot], name))
        slot = (slot + 1) & (progs->cap - 1);
    return slot;
}

static bool
progs_grow(struct progs *progs)
{
    struct progs wide = *progs;
    wide.cap = progs->cap ? progs->cap * 2 : FIRST_PROGS;
    wide.slots = arena_calloc(wide.arena, wide.cap, sizeof *wide.slots);
    if (!wide.slots)
        return false;
    for (size_t i = 0; i < progs->cap; i++)
        if (progs->slots[i].data)
            wide.slots[slot_of(&wide, progs->slots[i])] = progs->slots[i];
    *progs = wide;
    return true;
}

static bool
progs_add(struct progs *progs, struct slice name)
{
    if (progs->n * 2 >= progs->cap && !progs_grow(progs))
        return false;
    size_t slot = slot_of(progs, name);
    progs->n += !progs->slots[slot].data;
    progs->slots[slot] = name;
    return true;
}

static struct slice
last_path_part(struct slice word)
{
    const char *slash = memrchr(word.data, '/', word.len);
    return slash ? behind(word, (size_t)(slash + 1 - word.data)) : word;
}

static bool
progs_add_source(struct progs *progs, struct prog_source source)
{
    struct slice word = unicode_word(&source.words);
    if (source.is_usage)
        return !word.data || progs_add(progs, word);
    for (; word.data; word = unicode_word(&source.words)) {
        struct slice name = last_path_part(word);
        if (name.len && !progs_add(progs, name))
            return false;
    }
    return true;
}

/* The word that lies around `at`, which is in `text`. */
static struct slice
word_around(struct slice text, const char *at)
{
    const char *end = text.data + text.len;
    const char *first = at;
    for (const char *before; first > text.data; first = before)
        if (unicode_is_space(text_last(text.data, first, &before)))
            break;
    const char *last = at;
    for (const char *next = at; last < end; last = next)
        if (unicode_is_space(text_next(&next, end)))
            break;
    return (struct slice){first, (size_t)(last - first)};
}

/* Is `name` the last path part of one of the words? Each word is looked at once. */
static bool
is_part_of_word(struct slice words, struct slice name)
{
    struct slice rest = words;
    while (rest.len) {
        const char *at = memmem(rest.data, rest.len, name.data, name.len);
        if (!at)
            return false;
        struct slice word = word_around(rest, at);
        if (slice_equal(last_path_part(word), name))
            return true;
        rest = behind(rest, (size_t)(word.data + word.len - rest.data));
    }
    return false;
}

static bool
is_in_sources(const struct progs *progs, struct slice name)
{
    for (size_t i = 0; i < progs->n_sources; i++) {
        struct prog_source source = progs->sources[i];
        if (source.is_usage ? slice_equal(unicode_word(&source.words), name)
                            : is_part_of_word(source.words, name))
            return true;
    }
    return false;
}

/* False when the arena is full. */
static bool
progs_has(struct progs *progs, struct slice name, bool *ret_has)
{
    if (progs->n_asked++ < QUESTIONS_WITHOUT_TABLE) {
        *ret_has = is_in_sources(progs, name);
        return true;
    }
    for (size_t i = 0; i < progs->n_sources; i++)
        if (!progs_add_source(progs, progs->sources[i]))
            return false;
    progs->n_sources = 0;
    *ret_has = progs->n && progs->slots[slot_of(progs, name)].data;
    return true;
}

static void
header_elapsed(struct slice text, struct log_scan *scan)
{
    size_t whole = digits(text);
    size_t len = whole;
    if (whole && len < text.len && text.data[len] == '.') {
        size_t fraction = digits(behind(text, len + 1));
        len = fraction ? len + 1 + fraction : len;
    }
    if (whole && len + 1 == text.len && text.data[len] == 's')
        scan->elapsed_s = without_zeros((struct slice){text.data, len});
}

/* A number of one to nine digits that is all of `text`, or a null slice. A negative one
 * keeps its sign in front of its digits, so zeros between them can't be cut in place. */
static struct slice
exit_number(struct slice text, struct arena *arena)
{
    bool negative = begins(text, SLICE("-"));
    struct slice number = behind(text, negative);
    size_t n = digits(number);
    if (n == 0 || n > HEADER_EXIT_DIGITS || n != number.len)
        return (struct slice){NULL, 0};
    struct slice clean = without_zeros(number);
    if (!negative || clean.len == number.len)
        return negative ? text : clean;
    return arena_printf(arena, "-%.*s", SLICE_ARG(clean));
}

static bool
header_line(struct slice line, struct progs *progs, struct log_scan *scan)
{
    if (take(&line, SLICE("# Command: ")))
        return progs_note(progs, line, false);
    if (take(&line, SLICE("# Elapsed: "))) {
        header_elapsed(line, scan);
    } else if (take(&line, SLICE("# Exit code: "))) {
        struct slice number = exit_number(line, progs->arena);
        if (number.data)
            scan->header_exit = number;
    } else if (begins(line, SLICE("# TIMEOUT after "))) {
        scan->timeout = true;
    }
    return true;
}

static void
inner_line(struct slice line, struct log_scan *scan)
{
    if (!take(&line, SLICE("!Process ")))
        return;
    bool signal = false;
    if (!take(&line, SLICE("exited with code "))) {
        if (!take(&line, SLICE("killed by signal ")))
            return;
        signal = true;
    }
    size_t n = digits(line);
    if (n == 0)
        return;
    scan->inner_exit = without_zeros((struct slice){line.data, n});
    scan->inner_signal = signal;
}

static bool
refusal_line(struct slice line, struct progs *progs, struct log_scan *scan)
{
    struct slice rest = line;
    if (take(&rest, SLICE("usage: ")) && !progs_note(progs, rest, true))
        return false;
    struct rejection found = {0};
    bool known = false;
    if (!argparse_line(line, &found))
        return true;
    if (!progs_has(progs, found.prog, &known))
        return false;
    if (known)
        scan->rejection = found;
    return true;
}

/* Lines that begin with "# "; empty ones lie among them. */
static bool
scan_header(struct slice *rest, struct progs *progs, struct log_scan *scan)
{
    struct slice ahead = *rest;
    struct slice line;
    while (next_line(&ahead, &line)) {
        if (line.len == 0)
            continue;
        if (!begins(line, SLICE("# ")))
            break;
        if (!header_line(line, progs, scan))
            return false;
        *rest = ahead;
    }
    return true;
}

/* Phrases that begin with a byte rare in logs, so memchr() passes over most of them. */
static bool
occurs(struct slice text, struct slice phrase)
{
    while (text.len >= phrase.len) {
        const char *at = memchr(text.data, phrase.data[0], text.len - phrase.len + 1);
        if (!at || memcmp(at, phrase.data, phrase.len) == 0)
            return at != NULL;
        text = behind(text, (size_t)(at + 1 - text.data));
    }
    return false;
}

static bool
scan_body(struct slice rest, struct progs *progs, struct log_scan *scan)
{
    scan->not_finished = occurs(rest, SLICE("[Tuning not Finished]"));
    bool may_refuse = occurs(rest, SLICE(": error: "));
    struct slice line;
    while (next_raw_line(&rest, &line)) {
        inner_line(line, scan);
        if (may_refuse && !scan->rejection.kind &&
            !refusal_line(unicode_strip_end(line), progs, scan))
            return false;
    }
    return true;
}

static bool
is_zero(struct slice number)
{
    return slice_is(number, "0");
}

enum err_kind
log_scan(struct slice bytes,
         struct arena *arena,
         struct log_scan *ret_scan,
         struct err *err)
{
    struct log_scan scan = {0};
    struct progs progs = {.arena = arena};
    struct slice text = bytes.len ? text_repair(arena, bytes) : SLICE("");
    struct slice rest = text.data ? without_csi(text, arena) : text;
    if (!rest.data)
        return audit_full(err);
    if (!scan_header(&rest, &progs, &scan) || !scan_body(rest, &progs, &scan))
        return audit_full(err);
    scan.masked_exit = is_zero(scan.header_exit) && scan.inner_exit.data &&
                       (scan.inner_signal || !is_zero(scan.inner_exit));
    *ret_scan = scan;
    return ERR_OK;
}

static void
add_text(struct buf *out, const char *before, struct slice text)
{
    if (!text.data)
        return;
    buf_add_str(out, before);
    json_write_string(out, text);
    buf_add(out, ", ", 2);
}

static void
add_number(struct buf *out, const char *before, struct slice number)
{
    if (!number.data)
        return;
    buf_add_str(out, before);
    buf_add_slice(out, number);
    buf_add(out, ", ", 2);
}

void
log_scan_write(const struct log_scan *scan, struct buf *out)
{
    const struct rejection *rejection = &scan->rejection;
    buf_add_byte(out, '{');
    add_text(out, "\"args\": ", rejection->args);
    add_number(out, "\"elapsed_s\": ", scan->elapsed_s);
    add_number(out, "\"header_exit\": ", scan->header_exit);
    add_number(out, scan->inner_signal ? "\"inner_exit\": -" : "\"inner_exit\": ",
               scan->inner_exit);
    add_text(out, "\"kind\": ", slice_of(rejection->kind));
    if (scan->masked_exit)
        buf_add_str(out, "\"masked_exit\": true, ");
    if (scan->not_finished)
        buf_add_str(out, "\"not_finished\": true, ");
    add_text(out, "\"prog\": ", rejection->prog);
    buf_add_str(out, rejection->kind ? "\"rejected\": true" : "\"rejected\": false");
    buf_add_str(out, scan->timeout ? ", \"timeout\": true}" : "}");
}

void
rejection_write(const struct rejection *rejection, struct buf *out)
{
    buf_add_str(out, "{\"args\": ");
    json_write_string(out, rejection->args);
    buf_add_str(out, ", \"kind\": ");
    json_write_string(out, slice_of(rejection->kind));
    if (rejection->prog.data) {
        buf_add_str(out, ", \"prog\": ");
        json_write_string(out, rejection->prog);
    }
    buf_add_byte(out, '}');
}
