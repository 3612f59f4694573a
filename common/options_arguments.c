/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from flags. */
#include "options_table.h"

#include <stdio.h>

/* What is left of the command line while it is read. */
struct arguments {
    char **argv;
    int argc;
    int next;
};

static bool
is_switch(const struct setting *setting)
{
    return setting->row->type == OPTION_FLAG || setting->row->type == OPTION_BOOL;
}

static bool
is_name(const char *name, struct slice word)
{
    return strncmp(name, word.data, word.len) == 0 && name[word.len] == '\0';
}

static struct setting *
find_flag(struct options *options, struct slice word)
{
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].flag && (is_name(options->settings[i].flag, word) ||
                                          is_name(options->settings[i].long_flag, word)))
            return &options->settings[i];
    return NULL;
}

static enum err_kind
refuse_flag(const struct options *options, struct slice name, struct err *err)
{
    const char *names[OPTIONS_SETTINGS];
    char word[128];
    snprintf(word, sizeof word, "%.*s", name.len < 100 ? (int)name.len : 100, name.data);
    size_t n = 0;
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].flag)
            names[n++] = options->settings[i].flag;
    const char *nearest = options_nearest(word, names, n);
    return err_fatal(err, EXIT_USAGE, "unknown_flag", "--%s is no flag here%s%s%s", word,
                     nearest ? "; did you mean --" : "; --help lists them",
                     nearest ? nearest : "", nearest ? "?" : "");
}

/* The argument of a flag that stands apart; a flag in its place was forgotten one. */
static enum err_kind
take_argument(struct arguments *arguments,
              const char *flag,
              const char **ret_value,
              struct err *err)
{
    const char *value =
        arguments->next < arguments->argc ? arguments->argv[arguments->next] : NULL;
    if (!value || (strncmp(value, "--", 2) == 0 && value[2]))
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "%s wants an argument (one that starts with -- is written "
                         "%s%sVALUE)",
                         flag, flag, flag[1] == '-' ? "=" : "");
    arguments->next++;
    *ret_value = value;
    return ERR_OK;
}

/* The setting of a name without its dashes, `no-` before a switch taken into account. */
static struct setting *
find_long_flag(struct options *options, struct slice name, bool *ret_negated)
{
    struct setting *setting = find_flag(options, name);
    *ret_negated = false;
    if (setting || name.len <= 3 || memcmp(name.data, "no-", 3) != 0)
        return setting;
    setting = find_flag(options, (struct slice){name.data + 3, name.len - 3});
    *ret_negated = true;
    return setting && is_switch(setting) ? setting : NULL;
}

static enum err_kind
set_long_flag(struct options *options, struct arguments *arguments, struct err *err)
{
    const char *word = arguments->argv[arguments->next++] + 2;
    const char *value = strchr(word, '=');
    struct slice name = {word, value ? (size_t)(value - word) : strlen(word)};
    bool negated;
    struct setting *setting = find_long_flag(options, name, &negated);
    if (!setting || (negated && value))
        return refuse_flag(options, name, err);
    char flag[160];
    snprintf(flag, sizeof flag, "--%s%s", negated ? "no-" : "", setting->flag);
    struct source source = {ORIGIN_FLAG, flag, EXIT_USAGE};
    if (value)
        value++;
    else if (is_switch(setting))
        value = negated ? "no" : "yes";
    else if (take_argument(arguments, flag, &value, err))
        return err->kind;
    return setting_set(options, setting, source, value, err);
}

static enum err_kind
set_property_flag(struct options *options, const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "-X %.200s: PROPERTY=VALUE is wanted", text);
    struct slice name =
        arena_copy(&options->arena, (struct slice){text, (size_t)(equals - text)});
    if (!name.data)
        return err_no_memory(err, "a property");
    return property_set(options, (struct source){ORIGIN_FLAG, "-X", EXIT_USAGE},
                        name.data, equals + 1, err);
}

static struct setting *
find_letter(struct options *options, char letter)
{
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].flag && options->settings[i].row->letter == letter)
            return &options->settings[i];
    return NULL;
}

/* The argument of a letter: what stands behind it, else the next word. */
static enum err_kind
set_letter(struct options *options,
           struct arguments *arguments,
           const char *letter,
           struct err *err)
{
    char flag[3] = {'-', *letter, '\0'};
    struct setting *setting = find_letter(options, *letter);
    const char *value = letter + 1;
    if (*value == '\0' && take_argument(arguments, flag, &value, err))
        return err ? err->kind : ERR_FATAL;
    if (*letter == 'X')
        return set_property_flag(options, value, err);
    return setting_set(options, setting, (struct source){ORIGIN_FLAG, flag, EXIT_USAGE},
                       value, err);
}

/* -q, -bLIST, -b LIST, -X a=b; switches may share a dash. */
static enum err_kind
set_letters(struct options *options, struct arguments *arguments, struct err *err)
{
    const char *letters = arguments->argv[arguments->next++] + 1;
    for (; *letters; letters++) {
        struct setting *setting = find_letter(options, *letters);
        if (!setting && *letters != 'X')
            return err_fatal(err, EXIT_USAGE, "unknown_flag",
                             "-%c is no flag here; --help lists them", *letters);
        if (!setting || !is_switch(setting))
            return set_letter(options, arguments, letters, err);
        char flag[3] = {'-', *letters, '\0'};
        struct source source = {ORIGIN_FLAG, flag, EXIT_USAGE};
        enum err_kind kind = setting_set(options, setting, source, "yes", err);
        if (kind)
            return kind;
    }
    return ERR_OK;
}

enum err_kind
options_set_arguments(struct options *options,
                      int argc,
                      char **argv,
                      char **ret_rest,
                      int *ret_n,
                      struct err *err)
{
    struct arguments arguments = {argv, argc, 1};
    bool flags = true;
    int n = 0;
    while (arguments.next < argc) {
        char *word = argv[arguments.next];
        enum err_kind kind = ERR_OK;
        if (!flags || word[0] != '-' || word[1] == '\0') {
            ret_rest[n++] = word;
            arguments.next++;
        } else if (strcmp(word, "--") == 0) {
            flags = false;
            arguments.next++;
        } else if (word[1] == '-') {
            kind = set_long_flag(options, &arguments, err);
        } else {
            kind = set_letters(options, &arguments, err);
        }
        if (kind)
            return kind;
    }
    *ret_n = n;
    return ERR_OK;
}
