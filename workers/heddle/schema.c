/* SPDX-License-Identifier: Apache-2.0 */
/* heddle schema: fingerprints, compatibility, releases and the registry. */
#include "verb.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "cleanup.h"
#include "compat.h"
#include "registry.h"
#include "schema_files.h"

enum { SUBJECT_BYTES = 256, SHA256_HEX = 2 * SCHEMA_SHA256_BYTES + 1 };

static struct {
    const char *schemas;
    const char *released;
    int64_t mode; /* enum compat_mode */
    bool execute;
} settings;

#define ROW(name_, type_, member)                                                        \
    .name = (name_), .type = (type_), .traits = OPTION_CLI_ONLY,                         \
    .offset = offsetof(__typeof__(settings), member)

static const struct option schema_options[] = {
    {ROW("schemas", OPTION_TEXT, schemas), .value = "schemas", .arg = "DIR",
     .help = "Folder of the schemas to look at when no file is named."},
    {ROW("released", OPTION_TEXT, released), .arg = "DIR",
     .help = "Folder of the released versions; else `released` below --schemas."},
    {ROW("mode", OPTION_CHOICE, mode), .value = "FULL_TRANSITIVE",
     .choices = "NONE|BACKWARD|BACKWARD_TRANSITIVE|FORWARD|FORWARD_TRANSITIVE|FULL|"
                "FULL_TRANSITIVE",
     .help = "What a new schema must be to the released ones."},
    {ROW("execute", OPTION_FLAG, execute),
     .help = "Does what register or pin would only print."},
};

/* One schema to look at. */
struct subject {
    char *name; /* "tuning_event" */
    struct schema *schema;
    struct schema_versions released;
};

static void
subject_done(struct subject *subject)
{
    free(subject->name);
    schema_free(subject->schema);
    schema_versions_done(&subject->released);
}

static enum err_kind
subject_read(const char *path, struct subject *ret_subject, struct err *err)
{
    CLEANUP(buf_done) struct buf released = BUF_INIT;
    if (settings.released)
        buf_add_str(&released, settings.released);
    else
        buf_addf(&released, "%s/released", settings.schemas);
    ret_subject->name = schema_file_name(path, err);
    if (!ret_subject->name)
        return err->kind;
    ret_subject->schema = schema_file_read(path, err);
    if (!ret_subject->schema)
        return err->kind;
    return schema_versions_read(buf_text(&released), ret_subject->name,
                                &ret_subject->released, err);
}

static const struct schema *
latest(const struct subject *subject)
{
    size_t n = subject->released.n;
    return n ? subject->released.items[n - 1] : NULL;
}

static bool
same_text(const struct schema *a, const struct schema *b)
{
    return a && b && slice_equal(schema_text(a), schema_text(b));
}

/* --- fingerprint ------------------------------------------------------------------- */

static enum err_kind
print_fingerprint(struct subject *subject,
                  struct buf *out,
                  bool *ret_finding, /* NOLINT(readability-non-const-parameter): a verb */
                  struct err *err)
{
    (void)ret_finding;
    (void)err;
    uint8_t digest[SCHEMA_SHA256_BYTES];
    char hex[SHA256_HEX];
    schema_sha256(subject->schema, digest);
    for (size_t i = 0; i < SCHEMA_SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    buf_addf(out, "%-16s %-24s crc64 %016llx  sha256 %s\n", subject->name,
             schema_name(subject->schema),
             (unsigned long long)schema_crc64(subject->schema), hex);
    return ERR_OK;
}

/* --- check ---------------------------------------------------------------------------
 */

static enum err_kind
print_check(struct subject *subject, struct buf *out, bool *ret_finding, struct err *err)
{
    (void)err;
    CLEANUP(buf_done) struct buf problems = BUF_INIT;
    enum compat_mode mode = (enum compat_mode)settings.mode;
    size_t n = compat_check(mode, subject->schema,
                            (const struct schema *const *)subject->released.items,
                            subject->released.n, &problems);
    if (n == 0) {
        buf_addf(out, "%-16s %s with %zu released version%s%s\n", subject->name,
                 compat_mode_name(mode), subject->released.n,
                 subject->released.n == 1 ? "" : "s",
                 same_text(subject->schema, latest(subject)) ? "" : ", not pinned yet");
        return ERR_OK;
    }
    *ret_finding = true;
    buf_addf(out, "%-16s breaks %s in %zu place%s:\n", subject->name,
             compat_mode_name(mode), n, n == 1 ? "" : "s");
    buf_add_slice(out, buf_slice(&problems));
    return ERR_OK;
}

/* --- pin ------------------------------------------------------------------------------
 */

static enum err_kind
pin(struct subject *subject, struct buf *out, bool *ret_finding, struct err *err)
{
    if (same_text(subject->schema, latest(subject))) {
        buf_addf(out, "= %-16s is version %zu\n", subject->name, subject->released.n);
        return ERR_OK;
    }
    bool broken = false;
    if (print_check(subject, out, &broken, err))
        return err->kind;
    if (broken) {
        *ret_finding = true;
        return ERR_OK;
    }
    size_t version = subject->released.n + 1;
    buf_addf(out, "+ %-16s version %zu%s\n", subject->name, version,
             settings.execute ? "" : " (with --execute)");
    if (!settings.execute)
        return ERR_OK;
    CLEANUP(buf_done) struct buf released = BUF_INIT;
    buf_addf(&released, "%s%s", settings.released ? settings.released : settings.schemas,
             settings.released ? "" : "/released");
    return schema_version_write(buf_text(&released), subject->name, version,
                                subject->schema, err);
}

/* --- register --------------------------------------------------------------------------
 */

static struct registry *registry; /* open during `register` */

static const char *
topic_of(const char *name)
{
    size_t n = 0;
    const struct catalog_entry *entries = catalog_all(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(entries[i].name, name) == 0)
            return entries[i].topic;
    return NULL;
}

static enum err_kind
register_one(const char *subject,
             const struct schema *schema,
             struct buf *out,
             struct err *err)
{
    uint32_t id = 0;
    if (registry_lookup(registry, subject, schema_text(schema), &id, err))
        return err->kind;
    if (id) {
        buf_addf(out, "= %-32s id %u\n", subject, id);
        return ERR_OK;
    }
    if (!settings.execute) {
        buf_addf(out, "+ %-32s (with --execute)\n", subject);
        return ERR_OK;
    }
    /* The registry's own default may be NONE, which would let anything in later. */
    if (registry_set_level(registry, subject,
                           compat_mode_name((enum compat_mode)settings.mode), err) ||
        registry_register(registry, subject, schema_text(schema), &id, err))
        return err->kind;
    buf_addf(out, "+ %-32s id %u\n", subject, id);
    return ERR_OK;
}

/* Every released version, oldest first, so that the registry knows all that was written.
 */
static enum err_kind
register_all(struct subject *subject, struct buf *out, bool *ret_finding, struct err *err)
{
    const char *topic = topic_of(subject->name);
    char name[SUBJECT_BYTES];
    snprintf(name, sizeof name, "%s-value", topic ? topic : subject->name);
    for (size_t i = 0; i < subject->released.n; i++)
        if (register_one(name, subject->released.items[i], out, err))
            goto refused;
    if (!same_text(subject->schema, latest(subject)) &&
        register_one(name, subject->schema, out, err))
        goto refused;
    return ERR_OK;

refused:
    if (err->kind != ERR_RECORD)
        return err->kind;
    buf_addf(out, "! %-32s %s\n", name, err->msg);
    *ret_finding = true;
    *err = (struct err){0};
    return ERR_OK;
}

static enum err_kind
open_registry(const struct program_call *call, struct err *err)
{
    struct registry_settings with = fleet_registry_settings(&call->fleet);
    if (!with.url)
        return err_fatal(err, EXIT_CONFIG, "registry_missing",
                         "no registry is set: give --schema-registry URL, "
                         "HEDDLE_SCHEMA_REGISTRY or `registry` in [schema]");
    registry = registry_new(&with, err);
    return registry ? ERR_OK : err->kind;
}

/* --- the verb
 * --------------------------------------------------------------------------- */

typedef enum err_kind
action_fn(struct subject *subject, struct buf *out, bool *ret_finding, struct err *err);

static enum err_kind
act_on(
    const char *path, action_fn *action, struct buf *out, bool *finding, struct err *err)
{
    CLEANUP(subject_done) struct subject subject = {0};
    if (subject_read(path, &subject, err))
        return err->kind;
    return action(&subject, out, finding, err);
}

static enum err_kind
act_on_folder(action_fn *action, struct buf *out, bool *finding, struct err *err)
{
    CLEANUP(buf_done) struct buf pattern = BUF_INIT;
    buf_addf(&pattern, "%s/*.avsc", settings.schemas);
    glob_t found = {0};
    if (glob(buf_text(&pattern), 0, NULL, &found))
        return err_fatal(err, EXIT_USAGE, "schema_missing",
                         "%s holds no .avsc; name files, or the folder with --schemas",
                         settings.schemas);
    for (size_t i = 0; i < found.gl_pathc && err->kind == ERR_OK; i++)
        act_on(found.gl_pathv[i], action, out, finding, err);
    globfree(&found);
    return err->kind;
}

static int
run(const struct program_call *call, struct err *err)
{
    static const char *const words[] = {"check", "fingerprint", "pin", "register", NULL};
    static action_fn *const actions[] = {print_check, print_fingerprint, pin,
                                         register_all};
    size_t word = 0;
    bool finding = false;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    if (verb_choose("action of heddle schema", call->n_rest ? call->rest[0] : NULL, words,
                    &word, err) ||
        (actions[word] == register_all && open_registry(call, err)))
        return EXIT_INTERNAL;
    if (call->n_rest == 1)
        act_on_folder(actions[word], &out, &finding, err);
    for (int i = 1; i < call->n_rest && err->kind == ERR_OK; i++)
        act_on(call->rest[i], actions[word], &out, &finding, err);
    registry_free(registry);
    registry = NULL;
    struct err unwritten = {0};
    if (program_print(&out, &unwritten) && err->kind == ERR_OK)
        *err = unwritten;
    return finding ? EXIT_NEGATIVE : EXIT_OK;
}

const struct verb verb_schema = {
    .name = "schema",
    .usage = "check|fingerprint|pin|register [OPTION]... [FILE.avsc]...",
    .summary = "Holds schemas against the released ones, pins and registers them.",
    .details =
        "check: every way in which a schema breaks --mode; exit status 1 when one does.\n"
        "fingerprint: CRC-64-AVRO, as single-object encoding writes it, and SHA-256.\n"
        "pin: keeps a compatible schema as the next released version.\n"
        "register: gives the registry of [schema] all versions, byte for byte, under\n"
        "TOPIC-value. pin and register print what they would do; --execute does it.",
    .options = schema_options,
    .n_options = sizeof schema_options / sizeof *schema_options,
    .settings = &settings,
    .run = run,
};
