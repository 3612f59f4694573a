/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a program: the table, its defaults, and values that are set. */
#include "options.h"

#include <stdlib.h>

#include "cleanup.h"
#include "option_value.h"
#include "options_table.h"

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
            size_t position,
            const struct option_table *table,
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
        .table = position,
        .value = (char *)table->target + row->offset,
        .name = join_name(options, row, '.'),
        .flag = kebab(options, row->traits & OPTION_LONG_FLAG ? row->section : NULL,
                      row->name),
        .long_flag = kebab(options, row->section, row->name),
        .variable = cli_only ? NULL : variable_name(options, row),
    };
    if (!setting->name || !setting->flag || !setting->long_flag ||
        (!cli_only && !setting->variable))
        return err_no_memory(err, "the settings");
    if ((table->no_flags && !cli_only) || row->traits & OPTION_NO_FLAG)
        setting->flag = setting->long_flag = NULL;
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
            bool flags = a->flag && b->flag;
            if (flags && strcmp(a->flag, b->flag) == 0) {
                a->flag = a->long_flag;
                b->flag = b->long_flag;
            }
            if (strcmp(a->name, b->name) == 0 ||
                (flags && a->row->letter && a->row->letter == b->row->letter))
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
            if (add_setting(options, &tables[t].rows[i], t, &tables[t], err))
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

bool
options_own_section(const struct options *options, const char *section)
{
    for (size_t i = 0; i < options->n_settings; i++)
        if (options->settings[i].variable &&
            strcmp(options->settings[i].row->section, section) == 0)
            return true;
    return false;
}

void
options_hint(struct buf *hint,
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

enum err_kind
setting_set(struct options *options,
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

enum err_kind
property_set(struct options *options,
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
