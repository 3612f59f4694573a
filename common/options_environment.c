/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from HEDDLE_ variables. */
#include "cleanup.h"
#include "options_table.h"

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
        if (i == len && name[i] == '_' && !options_own_section(options, *s))
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
    options_hint(&hint, name, names, n, "; unset it, or see ENVIRONMENT in heddle(1)");
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
    return property_set(options, source, property.data, value, err);
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
        return setting_set(options, setting, source, value, err);
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
    return setting_set(options, setting, source, value, err);
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
