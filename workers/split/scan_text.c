/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text: decoded, repaired for a chunk, and compact. */
#include "scan_decode.h"
#include "scan_value.h"

#include "arena.h"
#include "cleanup.h"

#include <math.h>
#include <stdlib.h>

enum { HIGH_SURROGATE = 0xd800, LOW_SURROGATE = 0xdc00, SURROGATE_END = 0xe000 };

/* The four digits behind `\u`; -1: they are not there. */
static int32_t
unicode_escape(const char *at, const char *end)
{
    int32_t unit = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = scan_hex(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static uint32_t
decode_unicode(const char **at, const char *end, uint32_t unit)
{
    *at += 6;
    if (unit < HIGH_SURROGATE || unit >= SURROGATE_END)
        return unit;
    int32_t low = unicode_escape(*at, end);
    if (unit >= LOW_SURROGATE || low < LOW_SURROGATE || low >= SURROGATE_END)
        return SCAN_REPLACEMENT;
    *at += 6;
    return 0x10000 + ((unit - HIGH_SURROGATE) << 10) + ((uint32_t)low - LOW_SURROGATE);
}

static uint32_t
decode_escape(const char **at, const char *end)
{
    int32_t unit = unicode_escape(*at, end);
    if (unit >= 0)
        return decode_unicode(at, end, (uint32_t)unit);
    char kind = 0;
    if (end - *at >= 2)
        kind = (*at)[1];
    *at += 2;
    switch (kind) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case '"':
    case '\\':
    case '/':
        return (uint32_t)kind;
    default:
        *at -= 1;
        return '\\';
    }
}

static uint32_t
decode_wide(const char **at, const char *end)
{
    int len = scan_utf8_length(*at, end);
    if (len <= 0) {
        *at += 1;
        return SCAN_REPLACEMENT;
    }
    uint32_t point = (unsigned char)**at & (0x7fU >> len);
    for (int i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)(*at)[i] & 0x3f);
    *at += len;
    return point;
}

uint32_t
scan_decode_next(const char **at, const char *end)
{
    unsigned char byte = (unsigned char)**at;
    if (byte == '\\')
        return decode_escape(at, end);
    if (byte >= 0x80)
        return decode_wide(at, end);
    *at += 1;
    return byte;
}

size_t
scan_encode_utf8(uint32_t point, char ret_bytes[4])
{
    if (point < 0x80) {
        ret_bytes[0] = (char)point;
        return 1;
    }
    size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        ret_bytes[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    ret_bytes[0] = (char)((0xf00U >> len) | point);
    return len;
}

size_t
scan_decode_short(struct scan_value value, char *ret_text, size_t cap)
{
    const char *at = value.text;
    const char *end = at + value.len;
    size_t len = 0;
    while (at < end) {
        char bytes[4];
        size_t n = scan_encode_utf8(scan_decode_next(&at, end), bytes);
        if (len + n > cap)
            return cap + 1;
        memcpy(ret_text + len, bytes, n);
        len += n;
    }
    return len;
}

void
scan_add_text(struct buf *out, struct scan_value value)
{
    if (value.plain) {
        buf_add(out, value.text, value.len);
        return;
    }
    const char *at = value.text;
    const char *end = at + value.len;
    while (at < end) {
        char bytes[4];
        buf_add(out, bytes, scan_encode_utf8(scan_decode_next(&at, end), bytes));
    }
}

/* A character of a string that is copied; *at moves behind it. */
static void
add_repaired_character(struct buf *out, const char **at, const char *end)
{
    unsigned char byte = (unsigned char)**at;
    if (byte < 0x20) {
        buf_addf(out, "\\u%04x", byte);
        *at += 1;
        return;
    }
    const char *start = *at;
    (void)scan_decode_next(at, end);
    if (byte == '\\' && *at - start == 1)
        buf_add_str(out, "\\\\");
    else if (byte >= 0x80 && *at - start == 1)
        buf_add(out, "\xef\xbf\xbd", 3);
    else
        buf_add(out, start, (size_t)(*at - start));
}

static const char *
add_repaired_string(struct buf *out, const char *at, const char *end)
{
    buf_add_byte(out, *at++);
    while (at < end && *at != '"')
        add_repaired_character(out, &at, end);
    if (at < end)
        buf_add_byte(out, *at++);
    return at;
}

/* A comma in front of a closing bracket is left out. */
static bool
is_trailing_comma(const char *at, const char *end)
{
    if (*at++ != ',')
        return false;
    while (at < end && scan_is_space(*at))
        at++;
    return at < end && (*at == '}' || *at == ']');
}

/* Behind a number or word that begins at `at`. */
static const char *
word_end(const char *at, const char *end)
{
    while (at < end && !scan_is_space(*at) && !strchr(",:{}[]\"", *at))
        at++;
    return at;
}

static bool
is_finite_word(const char *at, const char *end)
{
    struct scan_value value;
    const char *behind;
    uint32_t repairs;
    struct scan_text text = {at, end, true};
    return scan_value_read(text, NULL, &value, &behind, &repairs) != SCAN_READ ||
           value.type != SCAN_NON_FINITE;
}

void
scan_add_repaired(struct buf *out, struct slice raw, uint32_t repairs)
{
    const char *at = raw.data;
    const char *end = at + raw.len;
    if (!(repairs & ~(uint32_t)SCAN_DUPLICATE_KEY)) {
        buf_add_slice(out, raw);
        return;
    }
    while (at < end) {
        if (*at == '"') {
            at = add_repaired_string(out, at, end);
        } else if (is_trailing_comma(at, end)) {
            at++;
        } else if (scan_is_space(*at) || strchr(",:{}[]", *at)) {
            buf_add_byte(out, *at++);
        } else {
            const char *behind = word_end(at, end);
            if (is_finite_word(at, behind))
                buf_add(out, at, (size_t)(behind - at));
            else
                buf_add_str(out, "null");
            at = behind > at ? behind : at + 1;
        }
    }
}

static void
add_ascii(struct buf *out, uint32_t point)
{
    static const char plain_escapes[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    for (const char *at = plain_escapes; *at; at += 2)
        if (point == (uint32_t)*at) {
            buf_add_byte(out, '\\');
            buf_add_byte(out, at[1]);
            return;
        }
    if (point >= 0x20 && point < 0x7f)
        buf_add_byte(out, (char)point);
    else if (point < 0x10000)
        buf_addf(out, "\\u%04x", point);
    else
        buf_addf(out, "\\u%04x\\u%04x", HIGH_SURROGATE + ((point - 0x10000) >> 10),
                 LOW_SURROGATE + ((point - 0x10000) & 0x3ff));
}

static const char *
add_compact_string(struct buf *out, const char *at, const char *end)
{
    buf_add_byte(out, '"');
    at++;
    while (at < end && *at != '"') {
        const char *start = at;
        uint32_t point = scan_decode_next(&at, end);
        /* As the model prints a byte that is no UTF-8: a lone low surrogate. */
        if ((unsigned char)*start >= 0x80 && at - start == 1)
            buf_addf(out, "\\udc%02x", (unsigned char)*start);
        else
            add_ascii(out, point);
    }
    buf_add_byte(out, '"');
    return at + 1;
}

/* As Python writes a double: the shortest digits that read back, 1e+16 and up as powers.
 */
static void
add_double(struct buf *out, const char *text)
{
    enum { DOUBLE_DIGITS = 17 };
    char digits[40];
    double number = strtod(text, NULL);
    if (isinf(number)) {
        buf_add_str(out, number < 0 ? "-Infinity" : "Infinity");
        return;
    }
    int precision = 0;
    do
        snprintf(digits, sizeof digits, "%.*e", precision++, number);
    while (precision < DOUBLE_DIGITS && strtod(digits, NULL) != number);
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16) {
        int behind = precision - 1 - exponent;
        buf_addf(out, "%.*f", behind > 1 ? behind : 1, number);
        return;
    }
    *strchr(digits, 'e') = 0;
    buf_addf(out, "%se%c%02d", digits, exponent < 0 ? '-' : '+', abs(exponent));
}

static void
add_compact_number(struct buf *out, struct scan_value value)
{
    char text[64];
    if (value.type == SCAN_NON_FINITE) {
        buf_add_str(out, "null");
    } else if (value.type == SCAN_DECIMAL && value.len < sizeof text) {
        memcpy(text, value.text, value.len);
        text[value.len] = 0;
        add_double(out, text);
    } else if (value.len == 2 && memcmp(value.text, "-0", 2) == 0) {
        buf_add_byte(out, '0');
    } else {
        buf_add(out, value.text, value.len);
    }
}

/* --- objects with a key twice ------------------------------------------------------- */

/* A member of an object that was printed compactly; offsets into the printed text. */
struct member {
    size_t at;      /* of the key's quote */
    size_t key_len; /* quotes included */
    size_t len;     /* key, colon and value */
    size_t last;    /* position of the last member of this key */
    bool repeats;   /* an earlier one has the key */
};

static size_t
behind_string(const char *text, size_t at)
{
    for (at++; text[at] != '"'; at++)
        at += text[at] == '\\';
    return at + 1;
}

/* Where the member that begins at `at` ends: its comma, or `end`. */
static size_t
behind_member(const char *text, size_t at, size_t end)
{
    size_t depth = 0;
    while (at < end && (depth > 0 || text[at] != ',')) {
        if (text[at] == '"') {
            at = behind_string(text, at);
            continue;
        }
        depth += text[at] == '{' || text[at] == '[';
        depth -= text[at] == '}' || text[at] == ']';
        at++;
    }
    return at;
}

/* The members of the object whose brace is at `start`, in order; `ret` may be NULL to
 * count. */
static size_t
list_members(const struct buf *out, size_t start, struct member *ret)
{
    size_t n = 0;
    for (size_t at = start + 1; at < out->len; n++) {
        size_t end = behind_member(out->data, at, out->len);
        if (ret)
            ret[n] = (struct member){.at = at,
                                     .key_len = behind_string(out->data, at) - at,
                                     .len = end - at,
                                     .last = n};
        at = end + 1;
    }
    return n;
}

/* Keys in order, and equal ones as they came. */
static int
compare_members(const void *a, const void *b, void *text)
{
    const struct member *const *x = a;
    const struct member *const *y = b;
    int d = slice_compare((struct slice){(const char *)text + (*x)->at, (*x)->key_len},
                          (struct slice){(const char *)text + (*y)->at, (*y)->key_len});
    return d ? d : ((*x)->at > (*y)->at) - ((*x)->at < (*y)->at);
}

/* Finds the keys that come again; false when there are none. */
static bool
mark_repeats(struct buf *out, struct member *members, struct member **sorted, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &members[i];
    qsort_r(sorted, n, sizeof *sorted, compare_members, out->data);
    for (size_t first = 0, i = 1; i < n; i++) {
        struct slice a = {out->data + sorted[first]->at, sorted[first]->key_len};
        struct slice b = {out->data + sorted[i]->at, sorted[i]->key_len};
        if (!slice_equal(a, b)) {
            first = i;
            continue;
        }
        sorted[i]->repeats = found = true;
        sorted[first]->last = (size_t)(sorted[i] - members);
    }
    return found;
}

/*
 * The object from `start` on is printed but for its closing brace. Of a key that comes
 * twice the last value stands, in the place of the first (2.2.6; as Python's dict).
 */
static void
keep_last_members(struct buf *out, size_t start)
{
    size_t n = out->failed ? 0 : list_members(out, start, NULL);
    if (n < 2)
        return;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    CLEANUP(buf_done) struct buf kept = BUF_INIT;
    struct member *members = arena_calloc(&arena, n, sizeof *members);
    struct member **sorted = arena_calloc(&arena, n, sizeof *sorted);
    if (!members || !sorted) {
        out->failed = true;
        return;
    }
    list_members(out, start, members);
    if (!mark_repeats(out, members, sorted, n))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct member *last = &members[members[i].last];
        if (members[i].repeats)
            continue;
        if (kept.len > 0)
            buf_add_byte(&kept, ',');
        buf_add(&kept, out->data + last->at, last->len);
    }
    out->len = start + 1;
    out->failed = out->failed || kept.failed;
    buf_add_slice(out, buf_slice(&kept));
}

/* Where the innermost open object begins; open arrays count, too. */
struct open_value {
    size_t start;
    bool object;
};

/* A brace or bracket: `open` holds a struct open_value for each that is open. */
static void
add_bracket(struct buf *out, struct buf *open, char bracket)
{
    struct open_value value = {out->len, bracket == '{'};
    if (bracket == '{' || bracket == '[') {
        buf_add(open, &value, sizeof value);
    } else if (open->len >= sizeof value) {
        open->len -= sizeof value;
        memcpy(&value, open->data + open->len, sizeof value);
        if (value.object)
            keep_last_members(out, value.start);
    }
    buf_add_byte(out, bracket);
}

void
scan_add_compact(struct buf *out, struct slice raw)
{
    const char *at = raw.data;
    const char *end = at + raw.len;
    CLEANUP(buf_done) struct buf open = BUF_INIT;
    while (at < end) {
        struct scan_value value;
        uint32_t repairs;
        struct scan_text rest = {at, end, true};
        if (*at == '"') {
            at = add_compact_string(out, at, end);
        } else if (scan_is_space(*at) || is_trailing_comma(at, end)) {
            at++;
        } else if (strchr("{}[]", *at)) {
            add_bracket(out, &open, *at++);
        } else if (!strchr(",:", *at) &&
                   scan_value_read(rest, NULL, &value, &at, &repairs) == SCAN_READ) {
            add_compact_number(out, value);
        } else {
            buf_add_byte(out, *at++);
        }
    }
    if (open.failed)
        out->failed = true;
}
