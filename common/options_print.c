/* SPDX-License-Identifier: Apache-2.0 */
/* What the option table says to people: --help, manual page, `check`, derive lines. */
#include "cleanup.h"
#include "option_value.h"
#include "options_table.h"

#include <stdio.h>

/* Width of a line of --help, and the column at which the explanation starts. */
enum { HELP_WIDTH = 88, HELP_COLUMN = 30 };

static bool
is_switch(const struct option *row)
{
    return row->type == OPTION_FLAG || row->type == OPTION_BOOL;
}

static const char *
argument_name(const struct option *row)
{
    if (row->arg)
        return row->arg;
    switch (row->type) {
    case OPTION_CHOICE:
        return row->choices;
    case OPTION_DURATION:
        return "DURATION";
    case OPTION_SIZE:
        return "SIZE";
    case OPTION_INT:
        return "N";
    case OPTION_FLAG:
    case OPTION_BOOL:
    case OPTION_TEXT:
    case OPTION_LIST:
        break;
    }
    return "TEXT";
}

/* Appends `text` in lines that start at HELP_COLUMN; the first line is at `column`. */
static void
add_wrapped(struct buf *out, const char *text, size_t column)
{
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column + 1 + len > HELP_WIDTH && column > HELP_COLUMN) {
            buf_addf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        if (column > HELP_COLUMN) {
            buf_add_byte(out, ' ');
            column++;
        }
        buf_add(out, text, len);
        column += len;
        text += len + (text[len] == ' ');
    }
    buf_add_byte(out, '\n');
}

/* Default and variable in brackets: what the table knows beyond the sentence. */
static void
add_facts(const struct setting *setting, struct buf *text)
{
    const struct option *row = setting->row;
    bool has_default = row->value && !(row->type == OPTION_FLAG);
    if (!has_default && !setting->variable)
        return;
    buf_add_str(text, " [");
    if (has_default)
        buf_addf(text, "default: %s", row->value);
    if (setting->variable)
        buf_addf(text, "%s%s", has_default ? "; " : "", setting->variable);
    buf_add_byte(text, ']');
}

static void
help_line(const char *flag, const char *explanation, struct buf *out)
{
    size_t len = strlen(flag);
    buf_add_str(out, flag);
    if (len + 2 > HELP_COLUMN)
        buf_addf(out, "\n%*s", HELP_COLUMN, "");
    else
        buf_addf(out, "%*s", (int)(HELP_COLUMN - len), "");
    add_wrapped(out, explanation, HELP_COLUMN);
}

static void
help_setting(const struct setting *setting, struct buf *out)
{
    const struct option *row = setting->row;
    CLEANUP(buf_done) struct buf flag = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    if (row->letter)
        buf_addf(&flag, "  -%c, --%s", row->letter, setting->flag);
    else
        buf_addf(&flag, "      --%s", setting->flag);
    if (!is_switch(row))
        buf_addf(&flag, " %s", argument_name(row));
    buf_add_str(&text, row->help);
    add_facts(setting, &text);
    help_line(buf_text(&flag), buf_text(&text), out);
}

void
options_help(const struct options *options, struct buf *out)
{
    const struct setting *last = NULL;
    for (size_t i = 0; i < options->n_settings; i++) {
        const struct setting *setting = &options->settings[i];
        if (!setting->flag)
            continue;
        if (last && setting->table != last->table)
            buf_add_byte(out, '\n');
        help_setting(setting, out);
        last = setting;
    }
    help_line("  -X PROPERTY=VALUE",
              "Sets a librdkafka property. [HEDDLE_KAFKA_PROPERTY]", out);
}

/* mdoc wants each sentence on a line of its own. */
static void
add_manual_text(struct buf *out, const char *sentences)
{
    for (const char *text = sentences; *text; text++) {
        if (*text == '\\')
            buf_add_str(out, "\\e");
        else if (*text == '-')
            buf_add_str(out, "\\-");
        else if (*text == ' ' && text > sentences && text[-1] == '.')
            buf_add_byte(out, '\n');
        else
            buf_add_byte(out, *text);
    }
}

static void
add_manual_flag(struct buf *out, const struct option *row)
{
    buf_add_str(out, ".It ");
    if (row->letter)
        buf_addf(out, "Fl %c , ", row->letter);
    buf_add_str(out, "Fl \\-");
    if (row->traits & OPTION_LONG_FLAG)
        buf_addf(out, "%s-", row->section);
    for (const char *c = row->name; *c; c++) {
        bool dash = *c == '_' || *c == '.';
        buf_add(out, dash ? "-" : c, 1);
    }
    if (!is_switch(row))
        buf_addf(out, " Ar %s", argument_name(row));
    buf_add_byte(out, '\n');
}

void
options_manual(const struct option *rows, size_t n_rows, struct buf *out)
{
    buf_add_str(out, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].traits & OPTION_NO_FLAG)
            continue;
        add_manual_flag(out, &rows[i]);
        add_manual_text(out, rows[i].help);
        if (rows[i].value && rows[i].type != OPTION_FLAG) {
            buf_add_str(out, "\nDefault: ");
            add_manual_text(out, rows[i].value);
            buf_add_byte(out, '.');
        }
        buf_add_byte(out, '\n');
    }
    buf_add_str(out, ".El\n");
}

/* --- effective settings ------------------------------------------------------------ */

bool
options_property_secret(const char *name)
{
    static const char *const words[] = {"password", "secret", "ssl.key.pem",
                                        "oauthbearer.config", "token"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* A value on its line: a line feed of a value is written as \n. */
static void
add_one_line(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\n')
            buf_add_str(out, "\\n");
        else if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            buf_add_byte(out, '?');
        else
            buf_add_byte(out, text.data[i]);
    }
}

static void
add_origin(struct buf *out, enum option_origin origin, const char *detail)
{
    static const char *const names[] = {"default", "file", "environment", "flag"};
    buf_addf(out, "  # %s%s%s\n", names[origin], detail ? " " : "", detail ? detail : "");
}

void
options_print(const struct options *options, struct buf *out)
{
    for (size_t i = 0; i < options->n_settings; i++) {
        const struct setting *setting = &options->settings[i];
        if (!setting->variable)
            continue;
        CLEANUP(buf_done) struct buf value = BUF_INIT;
        option_value_print(setting->row, setting->value, &value);
        bool hidden = (setting->row->traits & OPTION_SECRET) && value.len;
        buf_addf(out, "%s = ", setting->name);
        add_one_line(out, hidden ? SLICE("***") : buf_slice(&value));
        add_origin(out, setting->origin, setting->detail);
    }
    for (size_t i = 0; i < options->n_properties; i++) {
        const struct option_property *property = &options->properties[i];
        bool hidden = options_property_secret(property->name);
        buf_addf(out, "kafka.%s = ", property->name);
        add_one_line(out, hidden ? SLICE("***") : slice_of(property->value));
        add_origin(out, property->origin, property->detail);
    }
}

/* The first setting of derive by name that comes after `before`. */
static const struct setting *
next_derive(const struct options *options, const struct setting *before)
{
    const struct setting *next = NULL;
    for (size_t i = 0; i < options->n_settings; i++) {
        const struct setting *setting = &options->settings[i];
        if (!(setting->row->traits & OPTION_DERIVE) ||
            (before && strcmp(setting->name, before->name) <= 0))
            continue;
        if (!next || strcmp(setting->name, next->name) < 0)
            next = setting;
    }
    return next;
}

void
options_derive_lines(const struct options *options, struct buf *out)
{
    const struct setting *setting = next_derive(options, NULL);
    for (; setting; setting = next_derive(options, setting)) {
        buf_addf(out, "%s=", setting->name);
        option_value_canonical(setting->row, setting->value, out);
        buf_add_byte(out, '\n');
    }
}
