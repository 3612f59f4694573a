/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the keys of a configuration file. */
#include "cleanup.h"
#include "options_table.h"

static bool
is_foreign(const struct options *options, const char *section)
{
    for (const char *const *s = options->foreign; s && *s; s++)
        if (strcmp(*s, section) == 0)
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
    options_hint(&hint, name, names, n,
                 "; `heddle check` without it lists those there are");
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
    options_hint(&hint, section, names, n, "; see SETTINGS in heddle(1)");
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
note_property(struct options *options,
              const struct source *source,
              const char *name,
              struct err *err)
{
    for (size_t i = 0; i < options->n_file_properties; i++)
        if (strcmp(options->file_properties[i].name, name) == 0)
            return refuse_duplicate(source, name, options->file_properties[i].place, err);
    if (options->n_file_properties == OPTIONS_PROPERTIES)
        return err_fatal(err, EXIT_CONFIG, "bad_value", "%s: more than %d properties",
                         source->detail, (int)OPTIONS_PROPERTIES);
    const char *copy = arena_copy(&options->arena, slice_of(name)).data;
    if (!copy)
        return err_no_memory(err, "a property");
    options->file_properties[options->n_file_properties++] =
        (struct file_property){copy, source->detail};
    return ERR_OK;
}

static enum err_kind
set_file_property(struct options *options,
                  const struct source *source,
                  const char *name,
                  const char *value,
                  struct err *err)
{
    enum err_kind kind = note_property(options, source, name, err);
    return kind ? kind : property_set(options, *source, name, value, err);
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
    if (!options_own_section(options, section))
        return is_foreign(options, section)
                   ? ERR_OK
                   : refuse_section(options, &source, section, err);
    struct setting *setting = find_setting(options, section, name);
    if (!setting || !setting->variable)
        return refuse_key(options, &source, section, name, err);
    if (setting->file_place)
        return refuse_duplicate(&source, setting->name, setting->file_place, err);
    setting->file_place = place.data;
    return setting_set(options, setting, source, value, err);
}
