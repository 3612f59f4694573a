/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of an annotation says about a step. The patterns of splitting.md 5.1 by
 * hand: none of them needs more than one look back.
 */
#include "step_name.h"

#include <strings.h>

/* Numbers above this are taken as this. */
#define MAX_NUMBER (INT64_C(1) << 53)

const char *
step_kind_name(enum step_kind kind)
{
    static const char *const names[] = {
        "unmatched",     "vllm_detailed", "vllm_native", "sglang_detailed",
        "sglang_native", "atom_detailed", "atom_native", "diffusion_native",
    };
    return names[kind];
}

const char *
step_phase_name(enum root_phase phase)
{
    static const char *const names[] = {"none", "prefill", "prefilldecode", "decode"};
    return names[phase];
}

bool
step_kind_is_serving(enum step_kind kind)
{
    return kind != STEP_UNMATCHED && kind != STEP_DIFFUSION_NATIVE;
}

/* --- small readers: each takes what it reads off the front ------------------------ */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
skip(struct slice *text, size_t n)
{
    *text = (struct slice){text->data + n, text->len - n};
}

static bool
take(struct slice *text, const char *word)
{
    size_t n = strlen(word);
    if (text->len < n || memcmp(text->data, word, n) != 0)
        return false;
    skip(text, n);
    return true;
}

static bool
take_any_case(struct slice *text, const char *word)
{
    size_t n = strlen(word);
    if (text->len < n || strncasecmp(text->data, word, n) != 0)
        return false;
    skip(text, n);
    return true;
}

static bool
take_number(struct slice *text, int64_t *ret_number)
{
    int64_t number = 0;
    size_t n = 0;
    for (; n < text->len && is_digit(text->data[n]); n++) {
        number = number * 10 + (text->data[n] - '0');
        if (number > MAX_NUMBER)
            number = MAX_NUMBER;
    }
    skip(text, n);
    *ret_number = number;
    return n > 0;
}

static bool
take_spaces(struct slice *text)
{
    size_t n = 0;
    while (n < text->len && is_space(text->data[n]))
        n++;
    skip(text, n);
    return n > 0;
}

/* Offset of "sqsq=" with a digit behind it; `text.len`: none. */
static size_t
find_sqsq(struct slice text, bool any_case)
{
    enum { MARK = sizeof "sqsq=" - 1 };
    for (size_t i = 0; i + MARK < text.len; i++) {
        struct slice at = {text.data + i, text.len - i};
        if ((any_case ? take_any_case(&at, "sqsq=") : take(&at, "sqsq=")) &&
            is_digit(at.data[0]))
            return i;
    }
    return text.len;
}

/* The integer of the last pair `key`=integer in `text`; 0 without one. */
static int64_t
pair_value(struct slice text, const char *key, bool any_case)
{
    int64_t value = 0;
    size_t len = strlen(key);
    while (text.len > 0) {
        size_t n = 0;
        while (n < text.len && is_word(text.data[n]))
            n++;
        if (n == 0) {
            skip(&text, 1);
            continue;
        }
        struct slice word = {text.data, n};
        skip(&text, n);
        if (text.len < 2 || text.data[0] != '=' || !is_digit(text.data[1]))
            continue;
        skip(&text, 1);
        int64_t number;
        take_number(&text, &number);
        if (word.len == len && (any_case ? strncasecmp(word.data, key, len)
                                         : memcmp(word.data, key, len)) == 0)
            value = number;
    }
    return value;
}

/* --- the forms --------------------------------------------------------------------- */

/* sq1sk2sqsq3sqsk4 in brackets; the first number. */
static bool
take_lengths(struct slice *text, int64_t *ret_sq)
{
    int64_t ignored;
    return take(text, "(sq") && take_number(text, ret_sq) && take(text, "sk") &&
           take_number(text, &ignored) && take(text, "sqsq") &&
           take_number(text, &ignored) && take(text, "sqsk") &&
           take_number(text, &ignored) && take(text, ")");
}

static struct step_numbers
numbers(int64_t batch, int64_t cr, int64_t cs, int64_t gr, int64_t gs)
{
    return (struct step_numbers){batch, cr + gr, cr, cs, gr, gs};
}

static bool
read_vllm_detailed(struct slice text, struct step_numbers *ret)
{
    int64_t ignored, cr, cs, gr, gs;
    if (!take(&text, "execute_") || !take_number(&text, &ignored) ||
        !take(&text, "_context_") || !take_number(&text, &cr) ||
        !take_lengths(&text, &cs) || !take(&text, "_generation_") ||
        !take_number(&text, &gr) || !take_lengths(&text, &gs))
        return false;
    *ret = numbers(cs + gs, cr, cs, gr, gs);
    return true;
}

/* Numbers joined by '_' in brackets; the first one. */
static bool
take_sums(struct slice *text, int64_t *ret_first)
{
    int64_t ignored;
    if (!take(text, "(") || !take_number(text, ret_first))
        return false;
    while (text->len > 1 && text->data[0] == '_' && is_digit(text->data[1])) {
        skip(text, 1);
        take_number(text, &ignored);
    }
    return take(text, ")");
}

static bool
read_vllm_native(struct slice text, struct step_numbers *ret)
{
    int64_t cr, cs, gr, gs;
    if (!take(&text, "execute_context_") || !take_number(&text, &cr) ||
        !take_sums(&text, &cs) || !take(&text, "_generation_") ||
        !take_number(&text, &gr) || !take_sums(&text, &gs))
        return false;
    *ret = numbers(cs + gs, cr, cs, gr, gs);
    return true;
}

enum sglang { EXTEND, DECODE, MIXED, DRAFT, VERIFY, TARGET_VERIFY, SGLANG_KINDS };

static bool
is_draft(enum sglang kind)
{
    return kind == DRAFT || kind == VERIFY || kind == TARGET_VERIFY;
}

/* step[KIND with a word's end behind it. */
static bool
take_sglang(struct slice *text, enum sglang *ret_kind)
{
    static const char *const names[] = {"EXTEND", "DECODE", "MIXED",
                                        "DRAFT",  "VERIFY", "TARGET_VERIFY"};
    if (!take_any_case(text, "step["))
        return false;
    size_t n = 0;
    while (n < text->len && is_word(text->data[n]))
        n++;
    for (int kind = 0; kind < SGLANG_KINDS; kind++)
        if (n == strlen(names[kind]) && strncasecmp(text->data, names[kind], n) == 0) {
            *ret_kind = (enum sglang)kind;
            skip(text, n);
            return true;
        }
    return false;
}

/* What stands between the kind and the first closing bracket. */
static bool
match_sglang_detailed(struct slice text, enum sglang *ret_kind, struct slice *ret_body)
{
    if (!take_sglang(&text, ret_kind))
        return false;
    const char *close = text.len ? memchr(text.data, ']', text.len) : NULL;
    if (!close)
        return false;
    *ret_body = (struct slice){text.data, (size_t)(close - text.data)};
    return find_sqsq(*ret_body, true) < ret_body->len;
}

static int64_t
first_not_zero(int64_t a, int64_t b, int64_t c)
{
    return a ? a : b ? b : c;
}

static bool
read_sglang_detailed(struct slice text, struct step_numbers *ret)
{
    enum sglang kind;
    struct slice body;
    if (!match_sglang_detailed(text, &kind, &body))
        return false;
    int64_t bs = pair_value(body, "bs", true);
    int64_t c_sq = pair_value(body, "c_sq", true);
    int64_t g_sq = pair_value(body, "g_sq", true);
    int64_t batch = first_not_zero(c_sq + g_sq, pair_value(body, "toks", true), bs);
    if (kind == DECODE)
        *ret = numbers(batch, 0, 0, bs, g_sq);
    else if (kind == MIXED)
        *ret = numbers(batch, pair_value(body, "c", true), c_sq,
                       pair_value(body, "g", true), g_sq);
    else
        *ret = numbers(is_draft(kind) ? bs : batch, bs, c_sq, 0, 0);
    return true;
}

/* The rest of the first line up to its last closing bracket. */
static bool
take_line(struct slice text, struct slice *ret_body)
{
    const char *feed = text.len ? memchr(text.data, '\n', text.len) : NULL;
    size_t len = feed ? (size_t)(feed - text.data) : text.len;
    const char *close = len ? memrchr(text.data, ']', len) : NULL;
    if (!close)
        return false;
    *ret_body = (struct slice){text.data, (size_t)(close - text.data)};
    return true;
}

static bool
match_sglang_native(struct slice text)
{
    enum sglang kind;
    struct slice body;
    return take_sglang(&text, &kind) && take_line(text, &body);
}

static bool
read_sglang_native(struct slice text, struct step_numbers *ret)
{
    enum sglang kind;
    int64_t bs;
    int64_t toks = 0;
    if (!match_sglang_native(text) || !take_sglang(&text, &kind) || !take_spaces(&text) ||
        !take_any_case(&text, "bs=") || !take_number(&text, &bs))
        return false;
    if (take_spaces(&text) &&
        (!take_any_case(&text, "toks=") || !take_number(&text, &toks)))
        return false;
    if (!take(&text, "]"))
        return false;
    int64_t tokens = toks ? toks : bs;
    if (kind == DECODE)
        *ret = numbers(bs, 0, 0, bs, bs);
    else
        *ret = numbers(is_draft(kind) ? bs : tokens, bs, tokens, 0, 0);
    return true;
}

static bool
match_atom(struct slice text, bool *ret_is_prefill, struct slice *ret_body)
{
    *ret_is_prefill = take(&text, "prefill[");
    return (*ret_is_prefill || take(&text, "decode[")) && take_line(text, ret_body);
}

static bool
read_atom(struct slice text, struct step_numbers *ret)
{
    bool is_prefill;
    struct slice body;
    if (!match_atom(text, &is_prefill, &body))
        return false;
    int64_t bs = pair_value(body, "bs", false);
    int64_t tok = pair_value(body, "tok", false);
    *ret = is_prefill ? numbers(tok, bs, tok, 0, 0) : numbers(tok, 0, 0, bs, tok);
    return true;
}

static bool
match_atom_detailed(struct slice text)
{
    bool ignored;
    struct slice body;
    return match_atom(text, &ignored, &body) && find_sqsq(body, false) < body.len;
}

static bool
read_diffusion(struct slice text, struct step_numbers *ret)
{
    int64_t first, ignored;
    if (!take(&text, "execute_diffusion_") || !take_number(&text, &first) ||
        !take(&text, "_") || !take_number(&text, &ignored) || !take(&text, "x") ||
        text.len == 0 || !is_digit(text.data[0]))
        return false;
    *ret = numbers(first, 0, 0, 0, 0);
    return true;
}

/* --- the questions ----------------------------------------------------------------- */

bool
step_name_is_detailed(struct slice name)
{
    struct step_numbers ignored;
    enum sglang kind;
    struct slice body;
    return read_vllm_detailed(name, &ignored) || match_atom_detailed(name) ||
           match_sglang_detailed(name, &kind, &body);
}

bool
step_name_is_native(struct slice name)
{
    struct step_numbers ignored;
    return read_vllm_native(name, &ignored) || match_sglang_native(name) ||
           read_atom(name, &ignored) || read_diffusion(name, &ignored);
}

bool
step_name_is_near_miss(struct slice name)
{
    static const char *const beginnings[] = {"execute_", "step[", "prefill[", "decode["};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        struct slice rest = name;
        if (take_any_case(&rest, beginnings[i]))
            return !step_name_is_detailed(name) && !step_name_is_native(name);
    }
    return false;
}

enum step_kind
step_name_read(struct slice name, struct step_numbers *ret_numbers)
{
    if (read_vllm_detailed(name, ret_numbers))
        return STEP_VLLM_DETAILED;
    if (read_vllm_native(name, ret_numbers))
        return STEP_VLLM_NATIVE;
    if (read_sglang_detailed(name, ret_numbers))
        return STEP_SGLANG_DETAILED;
    if (read_sglang_native(name, ret_numbers))
        return STEP_SGLANG_NATIVE;
    if (read_atom(name, ret_numbers))
        return match_atom_detailed(name) ? STEP_ATOM_DETAILED : STEP_ATOM_NATIVE;
    if (read_diffusion(name, ret_numbers))
        return STEP_DIFFUSION_NATIVE;
    *ret_numbers = numbers(1, 0, 0, 1, 1);
    return STEP_UNMATCHED;
}

enum root_phase
step_phase_of(const struct step_numbers *step)
{
    bool has_context = step->context_requests > 0;
    if (step->generation_requests > 0)
        return has_context ? PHASE_PREFILLDECODE : PHASE_DECODE;
    return has_context ? PHASE_PREFILL : PHASE_NONE;
}

void
step_name_add_skeleton(struct buf *out, struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_digit(name.data[i]))
            buf_add_byte(out, name.data[i]);
        else if (i == 0 || !is_digit(name.data[i - 1]))
            buf_add_byte(out, '#');
    }
}
