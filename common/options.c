/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from a file, the environment and flags, by one table. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "option_value.h"
#include "options_table.h"

/* Where a value comes from, for origins and for messages. */
struct source {
    enum option_origin origin;
    const char *detail; /* "heddle.ini:12", "HEDDLE_GROUP", "--group" */
    enum exit_code exit_code;
};

/* --- the table ------------------------------------------------------------------- */

static const char *
join_name(struct options *options, const struct option *row, char separator)
{
    const char *section = row->section ? row->section : "";
    struct slice name = arena_printf(&options->arena, "%s%.*s%s", section,
                                     row->section ? 1 : 0, &separator, row->name);
    return name.data;
}

static const char *
kebab(struct options *options, const char *section, const char *name)
{
    struct slice text = arena_printf(&options->arena, "%s%s%s", section ? section : "",
                                     section ? "-" : "", name);
    char *writable = (char *)(uintptr_t)text.data;
    for (size_t i = 0; i < text.len; i++)
        if (writable[i] == '_' || writable[i] == '.')
            writable[i] = '-';
    return text.data;
}

static const char *
variable_name(struct options *options, const struct option *row)
{
    bool plain = strcmp(row->section, "heddle") == 0;
    struct slice text =
        arena_printf(&options->arena, "HEDDLE_%s%s%s", plain ? "" : row->section,
                     plain ? "" : "_", row->name);
    char *writable = (char *)(uintptr_t)text.data;
    for (size_t i = 0; i < text.len; i++)
        if (writable[i] >= 'a' && writable[i] <= 'z')
            writable[i] = (char)(writable[i] - 'a' + 'A');
    return text.data;
}

static enum err_kind
set_default(struct options *options, struct setting *setting, struct err *err)
{
    const struct option *row = setting->row;
    if (!row->value)
        return ERR_OK;
    enum err_kind kind =
        option_value_set(row, setting->value, slice_of(row->value), &options->arena, err);
    if (kind != ERR_RECORD)
        return kind;
    return err_fatal(err, EXIT_INTERNAL, "options_table", "default of %s is off",
                     setting->name);
}

static enum err_kind
add_setting(struct options *options,
            const struct option *row,
            size_t table,
            void *target,
            struct err *err)
{
    bool cli_only = row->traits & OPTION_CLI_ONLY;
    if (options->n_settings == OPTIONS_SETTINGS || !row->name || !row->help ||
        (!row->section && !cli_only) || (row->type == OPTION_CHOICE && !row->choices))
        return err_fatal(err, EXIT_INTERNAL, "options_table", "row %s is off",
                         row->name ? row->name : "without a name");
    struct setting *setting = &options->settings[options->n_settings];
    *setting = (struct setting){
        .row = row,
        .table = table,
        .value = (char *)target + row->offset,
        .name = join_name(options, row, '.'),
        .flag = kebab(options, row->traits & OPTION_LONG_FLAG ? row->section : NULL,
                      row->name),
        .long_flag = kebab(options, row->section, row->name),
        .variable = cli_only ? NULL : variable_name(options, row),
    };
    if (!setting->name || !setting->flag || !setting->long_flag ||
        (!cli_only && !setting->variable))
        return err_no_memory(err, "the settings");
    options->n_settings++;
    return set_default(options, setting, err);
}

/* Of two settings with one flag, each is left with its long form. */
static enum err_kind
part_clashing_flags(struct options *options, struct err *err)
{
    for (size_t i = 0; i < options->n_settings; i++)
        for (size_t j = 0; j < i; j++) {
            struct setting *a = &options->settings[i];
            struct setting *b = &options->settings[j];
            if (strcmp(a->flag, b->flag) == 0) {
                a->flag = a->long_flag;
                b->flag = b->long_flag;
            }
            if (strcmp(a->name, b->name) == 0 ||
                (a->row->letter && a->row->letter == b->row->letter))
                return err_fatal(err, EXIT_INTERNAL, "options_table",
                                 "%s and %s can't be told apart", b->name, a->name);
        }
    return ERR_OK;
}

static enum err_kind
add_tables(struct options *options,
           const struct option_table *tables,
           size_t n_tables,
           struct err *err)
{
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < tables[t].n_rows; i++)
            if (add_setting(options, &tables[t].rows[i], t, tables[t].target, err))
                return ERR_FATAL;
    return part_clashing_flags(options, err);
}

struct options *
options_new(const struct option_table *tables,
            size_t n_tables,
            option_read_fn *read_file,
            void *state,
            struct err *err)
{
    struct options *options = calloc(1, sizeof *options);
    if (!options) {
        err_no_memory(err, "the settings");
        return NULL;
    }
    options->read_file = read_file;
    options->state = state;
    if (!add_tables(options, tables, n_tables, err))
        return options;
    options_free(options);
    return NULL;
}

void
options_free(struct options *options)
{
    if (!options)
        return;
    arena_done(&options->arena);
    free(options);
}

void
options_foreign_sections(struct options *options, const char *const *sections)
{
    options->foreign = sections;
}

/* --- values ---------------------------------------------------------------------- */

/* Says `err` again with where the value stands; secrets stay out of it. */
static enum err_kind
refuse_value(const struct source *source,
             const char *name,
             const char *text,
             bool secret,
             struct err *err)
{
    if (!err || err->kind != ERR_RECORD)
        return err ? err->kind : ERR_FATAL;
    struct err cause = *err;
    return err_fatal(err, source->exit_code, cause.code, "%s: %s = %.200s: %s",
                     source->detail, name, secret ? "***" : text, cause.msg);
}

/* `text`, or what the file holds that "@file:PATH" names, put into `content`. */
static enum err_kind
follow_file(struct options *options,
            const struct source *source,
            const char *name,
            struct slice *text,
            struct buf *content,
            struct err *err)
{
    static const char prefix[] = "@file:";
    if (strncmp(text->data, prefix, sizeof prefix - 1) != 0)
        return ERR_OK;
    const char *path = text->data + sizeof prefix - 1;
    if (!options->read_file)
        return err_fatal(err, source->exit_code, "bad_value",
                         "%s: %s: files can't be read here", source->detail, name);
    struct err cause = {0};
    if (options->read_file(options->state, path, content, &cause))
        return err_fatal(err, source->exit_code, cause.code, "%s: %s: %s", source->detail,
                         name, cause.msg);
    *text = slice_of(buf_text(content));
    if (text->len != content->len)
        return err_fatal(err, source->exit_code, "bad_value",
                         "%s: %s: %s holds a NUL or is too large; a text is wanted",
                         source->detail, name, path);
    return ERR_OK;
}

static enum err_kind
keep_detail(struct options *options, struct source *source, struct err *err)
{
    source->detail = arena_copy(&options->arena, slice_of(source->detail)).data;
    return source->detail ? ERR_OK : err_no_memory(err, "the settings");
}

/* A weaker value is read as well, so that a wrong one is never passed over. */
static enum err_kind
store_value(struct options *options,
            struct setting *setting,
            const struct source *source,
            struct slice text,
            struct err *err)
{
    union {
        bool truth;
        int64_t number;
        const char *text;
        struct option_list list;
    } unused = {.list = {0}};
    bool weaker = source->origin < setting->origin;
    bool collects = setting->row->type == OPTION_LIST && source->origin == ORIGIN_FLAG;
    if (!collects)
        return option_value_set(setting->row, weaker ? (void *)&unused : setting->value,
                                text, &options->arena, err);
    if (setting->origin != ORIGIN_FLAG)
        *(struct option_list *)setting->value = (struct option_list){0};
    return option_value_append(setting->value, text, &options->arena, err);
}

static enum err_kind
set_value(struct options *options,
          struct setting *setting,
          struct source source,
          const char *given,
          struct err *err)
{
    CLEANUP(buf_done) struct buf content;
    buf_init(&content, OPTIONS_VALUE_BYTES);
    struct slice text = slice_of(given);
    struct err cause = {0};
    if (keep_detail(options, &source, err) ||
        follow_file(options, &source, setting->name, &text, &content, err))
        return err ? err->kind : ERR_FATAL;
    if (store_value(options, setting, &source, text, &cause)) {
        bool secret = setting->row->traits & OPTION_SECRET;
        refuse_value(&source, setting->name, given, secret, &cause);
        if (err)
            *err = cause;
        return cause.kind;
    }
    if (source.origin < setting->origin)
        return ERR_OK;
    setting->origin = source.origin;
    setting->detail = source.detail;
    return ERR_OK;
}

/* Position of `name` among the sorted properties, or where it belongs. */
static size_t
property_position(const struct options *options, const char *name, bool *ret_found)
{
    size_t i = 0;
    while (i < options->n_properties && strcmp(options->properties[i].name, name) < 0)
        i++;
    *ret_found =
        i < options->n_properties && strcmp(options->properties[i].name, name) == 0;
    return i;
}

static enum err_kind
store_property(struct options *options,
               const struct option_property *property,
               struct err *err)
{
    bool found = false;
    size_t i = property_position(options, property->name, &found);
    if (!found && options->n_properties == OPTIONS_PROPERTIES)
        return err_fatal(err, EXIT_CONFIG, "bad_value", "%s: more than %d properties",
                         property->detail, (int)OPTIONS_PROPERTIES);
    struct option_property *slot = &options->properties[i];
    if (found && property->origin < slot->origin)
        return ERR_OK;
    if (!found) {
        memmove(slot + 1, slot, (options->n_properties - i) * sizeof *slot);
        options->n_properties++;
    }
    *slot = *property;
    return ERR_OK;
}

static enum err_kind
set_property(struct options *options,
             struct source source,
             const char *name,
             const char *given,
             struct err *err)
{
    CLEANUP(buf_done) struct buf content;
    buf_init(&content, OPTIONS_VALUE_BYTES);
    struct slice text = slice_of(given);
    if (*name == '\0')
        return err_fatal(err, source.exit_code, "bad_value",
                         "%s: a property without a name; PROPERTY=VALUE is wanted",
                         source.detail);
    if (keep_detail(options, &source, err) ||
        follow_file(options, &source, name, &text, &content, err))
        return err ? err->kind : ERR_FATAL;
    struct option_property property = {
        .name = arena_copy(&options->arena, slice_of(name)).data,
        .value = arena_copy(&options->arena, text).data,
        .origin = source.origin,
        .detail = source.detail,
    };
    if (!property.name || !property.value)
        return err_no_memory(err, "a property");
    return store_property(options, &property, err);
}

const struct option_property *
options_properties(const struct options *options, size_t *ret_n)
{
    *ret_n = options->n_properties;
    return options->properties;
}

/* --- the file -------------------------------------------------------------------- */

static bool
is_foreign(const struct options *options, const char *section)
{
    for (const char *const *s = options->foreign; s && *s; s++)
        if (strcmp(*s, section) == 0)
            return true;
    return false;
}

static bool
is_own_section(const struct options *options, const char *section)
{
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].variable &&
            strcmp(options->settings[i].row->section, section) == 0)
            return true;
    return false;
}

static struct setting *
find_setting(struct options *options, const char *section, const char *name)
{
    for (size_t i = 0; i < options->n_settings; i++) {
        const struct option *row = options->settings[i].row;
        if (row->section && strcmp(row->section, section) == 0 &&
            strcmp(row->name, name) == 0)
            return &options->settings[i];
    }
    return NULL;
}

/* "; did you mean NAME?", or what to look at when nothing is near. */
static void
add_hint(struct buf *hint,
         const char *word,
         const char *const *names,
         size_t n,
         const char *otherwise)
{
    const char *nearest = options_nearest(word, names, n);
    if (nearest)
        buf_addf(hint, "; did you mean %s?", nearest);
    else
        buf_add_str(hint, otherwise);
}

static enum err_kind
refuse_key(const struct options *options,
           const struct source *source,
           const char *section,
           const char *name,
           struct err *err)
{
    const char *names[OPTIONS_SETTINGS];
    size_t n = 0;
    for (size_t i = 0; i < options->n_settings; i++) {
        const struct setting *setting = &options->settings[i];
        if (setting->variable && strcmp(setting->row->section, section) == 0)
            names[n++] = setting->row->name;
    }
    CLEANUP(buf_done) struct buf hint = BUF_INIT;
    add_hint(&hint, name, names, n, "; `heddle check` without it lists those there are");
    return err_fatal(err, source->exit_code, "unknown_setting",
                     "%s: [%s] has no key %.100s%s", source->detail, section, name,
                     buf_text(&hint));
}

static enum err_kind
refuse_section(const struct options *options,
               const struct source *source,
               const char *section,
               struct err *err)
{
    const char *names[2 * OPTIONS_SETTINGS] = {"kafka"};
    size_t n = 1;
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].variable)
            names[n++] = options->settings[i].row->section;
    for (const char *const *s = options->foreign; s && *s; s++)
        if (n < sizeof names / sizeof *names)
            names[n++] = *s;
    CLEANUP(buf_done) struct buf hint = BUF_INIT;
    add_hint(&hint, section, names, n, "; see SETTINGS in heddle(1)");
    return err_fatal(err, source->exit_code, "unknown_setting",
                     "%s: no part of this version reads a section [%.100s]%s",
                     source->detail, section, buf_text(&hint));
}

static enum err_kind
refuse_duplicate(const struct source *source,
                 const char *name,
                 const char *before,
                 struct err *err)
{
    return err_fatal(err, source->exit_code, "duplicate_setting",
                     "%s: %s is set before, at %s; keep one of them", source->detail,
                     name, before);
}

static enum err_kind
set_file_property(struct options *options,
                  const struct source *source,
                  const char *name,
                  const char *value,
                  struct err *err)
{
    bool found = false;
    size_t i = property_position(options, name, &found);
    if (found && options->properties[i].origin == ORIGIN_FILE)
        return refuse_duplicate(source, name, options->properties[i].detail, err);
    return set_property(options, *source, name, value, err);
}

enum err_kind
options_set_file(struct options *options,
                 const char *file,
                 int line,
                 const char *section,
                 const char *name,
                 const char *value,
                 struct err *err)
{
    struct slice place = arena_printf(&options->arena, "%s:%d", file, line);
    if (!place.data)
        return err_no_memory(err, "the settings");
    struct source source = {ORIGIN_FILE, place.data, EXIT_CONFIG};
    if (*section == '\0')
        return err_fatal(err, EXIT_CONFIG, "unknown_setting",
                         "%s: %.100s stands before any section; write [heddle] above it",
                         place.data, name);
    if (strcmp(section, "kafka") == 0)
        return set_file_property(options, &source, name, value, err);
    if (!is_own_section(options, section))
        return is_foreign(options, section)
                   ? ERR_OK
                   : refuse_section(options, &source, section, err);
    struct setting *setting = find_setting(options, section, name);
    if (!setting || !setting->variable)
        return refuse_key(options, &source, section, name, err);
    if (setting->origin == ORIGIN_FILE)
        return refuse_duplicate(&source, setting->name, setting->detail, err);
    return set_value(options, setting, source, value, err);
}

/* --- the environment ------------------------------------------------------------- */

#define VARIABLE_PREFIX "HEDDLE_"
#define KAFKA_PREFIX    VARIABLE_PREFIX "KAFKA_"
#define FILE_SUFFIX     "_FILE"

/* HEDDLE_AUDIT_X where audit is a foreign section. */
static bool
is_foreign_variable(const struct options *options, const char *name)
{
    name += sizeof VARIABLE_PREFIX - 1;
    for (const char *const *s = options->foreign; s && *s; s++) {
        size_t len = strlen(*s);
        size_t i = 0;
        while (i < len && name[i] &&
               (name[i] | 0x20) == (*s)[i]) /* sections are lower-case letters */
            i++;
        if (i == len && name[i] == '_' && !is_own_section(options, *s))
            return true;
    }
    return false;
}

static struct setting *
find_variable(struct options *options, struct slice name)
{
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].variable &&
            slice_is(name, options->settings[i].variable))
            return &options->settings[i];
    return NULL;
}

/* NAME without its _FILE; null when it has none. */
static struct slice
without_file_suffix(const char *name)
{
    size_t len = strlen(name);
    size_t suffix = sizeof FILE_SUFFIX - 1;
    if (len <= suffix || strcmp(name + len - suffix, FILE_SUFFIX) != 0)
        return (struct slice){0};
    return (struct slice){name, len - suffix};
}

static enum err_kind
refuse_variable(const struct options *options, const char *name, struct err *err)
{
    const char *names[OPTIONS_SETTINGS + 1] = {"HEDDLE_CONFIG"};
    size_t n = 1;
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].variable)
            names[n++] = options->settings[i].variable;
    CLEANUP(buf_done) struct buf hint = BUF_INIT;
    add_hint(&hint, name, names, n, "; unset it, or see ENVIRONMENT in heddle(1)");
    return err_fatal(err, EXIT_CONFIG, "unknown_setting",
                     "environment: %.100s is no setting%s", name, buf_text(&hint));
}

/* HEDDLE_KAFKA_SASL_PASSWORD is sasl.password. */
static enum err_kind
set_kafka_variable(struct options *options,
                   struct source source,
                   struct slice name,
                   const char *value,
                   struct err *err)
{
    size_t skip = sizeof KAFKA_PREFIX - 1;
    struct slice property =
        arena_copy(&options->arena, (struct slice){name.data + skip, name.len - skip});
    char *writable = (char *)(uintptr_t)property.data;
    if (!writable)
        return err_no_memory(err, "a property");
    for (size_t i = 0; i < property.len; i++) {
        if (writable[i] == '_')
            writable[i] = '.';
        if (writable[i] >= 'A' && writable[i] <= 'Z')
            writable[i] = (char)(writable[i] - 'A' + 'a');
    }
    return set_property(options, source, property.data, value, err);
}

static bool
is_set(char *const *environment, struct slice name)
{
    for (; *environment; environment++)
        if (strncmp(*environment, name.data, name.len) == 0 &&
            (*environment)[name.len] == '=')
            return true;
    return false;
}

/* One variable: a setting's own, a property's, or either with _FILE. */
static enum err_kind
set_variable(struct options *options,
             char *const *environment,
             const char *name,
             const char *value,
             struct err *err)
{
    struct source source = {ORIGIN_ENVIRONMENT, name, EXIT_CONFIG};
    struct setting *setting = find_variable(options, slice_of(name));
    if (setting)
        return set_value(options, setting, source, value, err);
    struct slice target = without_file_suffix(name);
    bool from_file = target.data != NULL;
    if (!from_file)
        target = slice_of(name);
    setting = find_variable(options, target);
    bool kafka = target.len >= sizeof KAFKA_PREFIX - 1 &&
                 memcmp(target.data, KAFKA_PREFIX, sizeof KAFKA_PREFIX - 1) == 0;
    if (!setting && !kafka)
        return is_foreign_variable(options, name) ? ERR_OK
                                                  : refuse_variable(options, name, err);
    if (from_file && is_set(environment, target))
        return err_fatal(err, EXIT_CONFIG, "duplicate_setting",
                         "environment: %s and %.*s are both set; keep one of them", name,
                         SLICE_ARG(target));
    if (from_file) {
        value = arena_printf(&options->arena, "@file:%s", value).data;
        if (!value)
            return err_no_memory(err, "the settings");
    }
    if (kafka && !setting)
        return set_kafka_variable(options, source, target, value, err);
    return set_value(options, setting, source, value, err);
}

enum err_kind
options_set_environment(struct options *options,
                        char *const *environment,
                        struct err *err)
{
    for (char *const *entry = environment; *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals || strncmp(*entry, VARIABLE_PREFIX, sizeof VARIABLE_PREFIX - 1) != 0)
            continue;
        struct slice name = arena_copy(&options->arena,
                                       (struct slice){*entry, (size_t)(equals - *entry)});
        if (!name.data)
            return err_no_memory(err, "the settings");
        if (slice_is(name, "HEDDLE_CONFIG"))
            continue;
        enum err_kind kind =
            set_variable(options, environment, name.data, equals + 1, err);
        if (kind)
            return kind;
    }
    return ERR_OK;
}

/* --- flags ----------------------------------------------------------------------- */

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
        if (is_name(options->settings[i].flag, word) ||
            is_name(options->settings[i].long_flag, word))
            return &options->settings[i];
    return NULL;
}

static enum err_kind
refuse_flag(const struct options *options, struct slice name, struct err *err)
{
    const char *names[OPTIONS_SETTINGS];
    char word[128];
    snprintf(word, sizeof word, "%.*s", name.len < 100 ? (int)name.len : 100, name.data);
    for (size_t i = 0; i < options->n_settings; i++)
        names[i] = options->settings[i].flag;
    const char *nearest = options_nearest(word, names, options->n_settings);
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

static enum err_kind
set_long_flag(struct options *options, struct arguments *arguments, struct err *err)
{
    const char *word = arguments->argv[arguments->next++] + 2;
    const char *value = strchr(word, '=');
    struct slice name = {word, value ? (size_t)(value - word) : strlen(word)};
    struct setting *setting = find_flag(options, name);
    bool negated = false;
    if (!setting && name.len > 3 && memcmp(word, "no-", 3) == 0) {
        setting = find_flag(options, (struct slice){word + 3, name.len - 3});
        negated = setting != NULL;
    }
    if (!setting || (negated && (!is_switch(setting) || value)))
        return refuse_flag(options, name, err);
    char flag[160];
    snprintf(flag, sizeof flag, "--%s%s", negated ? "no-" : "", setting->flag);
    struct source source = {ORIGIN_FLAG, flag, EXIT_USAGE};
    if (value)
        value++;
    else if (is_switch(setting))
        value = negated ? "no" : "yes";
    else if (take_argument(arguments, flag, &value, err))
        return err ? err->kind : ERR_FATAL;
    return set_value(options, setting, source, value, err);
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
    return set_property(options, (struct source){ORIGIN_FLAG, "-X", EXIT_USAGE},
                        name.data, equals + 1, err);
}

static struct setting *
find_letter(struct options *options, char letter)
{
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].row->letter == letter)
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
    return set_value(options, setting, (struct source){ORIGIN_FLAG, flag, EXIT_USAGE},
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
        enum err_kind kind = set_value(options, setting, source, "yes", err);
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

enum option_origin
options_origin(const struct options *options,
               const char *section,
               const char *name,
               const char **ret_detail)
{
    for (size_t i = 0; i < options->n_settings; i++) {
        const struct setting *setting = &options->settings[i];
        if (strcmp(setting->row->name, name) != 0 ||
            (section && setting->row->section &&
             strcmp(setting->row->section, section) != 0))
            continue;
        if (ret_detail)
            *ret_detail = setting->detail;
        return setting->origin;
    }
    return ORIGIN_DEFAULT;
}
