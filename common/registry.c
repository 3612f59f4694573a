/* SPDX-License-Identifier: Apache-2.0 */
/* Client of a schema registry. */
#include "registry.h"

#include "cleanup.h"
#include "clock.h"
#include "digest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ceilings: a topic has few writers' schemas; a flood of made-up ids must stay small. */
enum { MAX_KNOWN = 4096, MAX_DENIED = 1024, MAX_SCHEMA_BYTES = 1 << 20 };

#define ACCEPT  "application/vnd.schemaregistry.v1+json, application/json"
#define CONTENT "application/vnd.schemaregistry.v1+json"

struct known {
    uint32_t id;
    char *text;
    size_t len;
};

struct denied {
    uint32_t id;
    int64_t since_ms; /* monotonic */
};

struct registry {
    struct http *http;
    char *url;       /* without a slash at its end */
    char *cache_dir; /* NULL: none */
    int64_t unknown_grace_ms;
    bool registers;
    struct known *known;
    size_t n_known;
    struct denied denied[MAX_DENIED];
    size_t n_denied;
};

static void
free_json(json_t **json)
{
    json_decref(*json);
}

static void
free_text(char **text)
{
    free(*text);
}

/* --- the copy on disk -------------------------------------------------------------- */

/* One folder a registry: ids of two registries have nothing to do with each other. */
static char *
cache_dir_of(const struct registry_settings *settings, struct err *err)
{
    char hex[DIGEST_HEX];
    digest_hex(slice_of(settings->url), hex);
    char *dir = NULL;
    if (asprintf(&dir, "%s/%.16s", settings->cache_dir, hex) < 0) {
        err_no_memory(err, "the path of the schema cache");
        return NULL;
    }
    for (char *p = dir + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(dir, 0700) && errno != EEXIST) {
            err_fatal(err, EXIT_CONFIG, "schema_cache",
                      "can't make the schema cache %s: %s", dir, strerror(errno));
            free(dir);
            return NULL;
        }
        *p = end;
        if (end == '\0')
            return dir;
    }
}

static bool
read_cached(const struct registry *registry, uint32_t id, struct buf *out)
{
    if (!registry->cache_dir)
        return false;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%u.avsc", registry->cache_dir, id);
    FILE *file = fopen(buf_text(&path), "re");
    if (!file)
        return false;
    char chunk[4096];
    size_t n = 0;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(out, chunk, n);
    bool whole = !ferror(file) && !out->failed && out->len > 0;
    fclose(file);
    return whole;
}

static bool
write_whole(int fd, struct slice text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.data, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text.data += n;
        text.len -= (size_t)n;
    }
    return fsync(fd) == 0;
}

/*
 * Appears whole or not at all. A copy that can't be written is no error: it only saves
 * the work when the registry is away, and the next fetch tries again.
 */
static void
write_cached(const struct registry *registry, uint32_t id, struct slice text)
{
    if (!registry->cache_dir)
        return;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf temporary = BUF_INIT;
    buf_addf(&path, "%s/%u.avsc", registry->cache_dir, id);
    buf_addf(&temporary, "%s/.%u.%d.XXXXXX", registry->cache_dir, id, (int)getpid());
    char *name = buf_text(&temporary)[0] ? temporary.data : NULL;
    int fd = name ? mkostemp(name, O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    bool written = write_whole(fd, text);
    close(fd);
    if (!written || rename(name, buf_text(&path)))
        unlink(name);
}

/* --- what is known ------------------------------------------------------------------ */

static const struct known *
find_known(const struct registry *registry, uint32_t id)
{
    for (size_t i = 0; i < registry->n_known; i++)
        if (registry->known[i].id == id)
            return &registry->known[i];
    return NULL;
}

static enum err_kind
remember(struct registry *registry,
         uint32_t id,
         struct slice text,
         struct slice *ret_text,
         struct err *err)
{
    if (registry->n_known == MAX_KNOWN)
        return err_set(err, ERR_RECORD, "schema_unknown",
                       "schema id %u would be number %d on this topic; that many writers "
                       "are an error upstream",
                       id, MAX_KNOWN + 1);
    struct known *grown =
        realloc(registry->known, (registry->n_known + 1) * sizeof *registry->known);
    if (!grown)
        return err_no_memory(err, "a schema");
    registry->known = grown;
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): never SIZE_MAX + 1 */
    char *copy = malloc(text.len + 1);
    if (!copy)
        return err_no_memory(err, "a schema");
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    registry->known[registry->n_known++] = (struct known){id, copy, text.len};
    *ret_text = (struct slice){copy, text.len};
    return ERR_OK;
}

static void
forget_denied(struct registry *registry, uint32_t id)
{
    for (size_t i = 0; i < registry->n_denied; i++)
        if (registry->denied[i].id == id) {
            registry->denied[i] = registry->denied[--registry->n_denied];
            return;
        }
}

/* Since when `id` has been denied; the oldest entry makes room when the table is full. */
static int64_t
denied_since(struct registry *registry, uint32_t id, int64_t now_ms)
{
    size_t oldest = 0;
    for (size_t i = 0; i < registry->n_denied; i++) {
        if (registry->denied[i].id == id)
            return registry->denied[i].since_ms;
        if (registry->denied[i].since_ms < registry->denied[oldest].since_ms)
            oldest = i;
    }
    size_t at = registry->n_denied < MAX_DENIED ? registry->n_denied++ : oldest;
    registry->denied[at] = (struct denied){id, now_ms};
    return now_ms;
}

/* A writer registers before it sends, but a replica of the registry may lag behind it. */
static enum err_kind
deny(struct registry *registry, uint32_t id, struct err *err)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t waited_ms = now_ms - denied_since(registry, id, now_ms);
    bool final = waited_ms >= registry->unknown_grace_ms;
    return err_set(err, final ? ERR_RECORD : ERR_RETRY, "schema_unknown",
                   "the registry %s does not know schema id %u, asked for %lld ms; "
                   "register the writer's schema and requeue the record",
                   registry->url, id, (long long)waited_ms);
}

/* --- requests ------------------------------------------------------------------------
 */

static enum err_kind
unavailable(const struct registry *registry, const char *why, struct err *err)
{
    err_set(err, ERR_RETRY, "registry_unavailable", "the registry %s can't answer: %s",
            registry->url, why);
    err->endless = true;
    return ERR_RETRY;
}

/* What every status but 2xx, 404, 409 and 422 means, whatever was asked. */
static enum err_kind
check_status(const struct registry *registry, long status, struct err *err)
{
    if ((status >= 200 && status < 300) || status == 404 || status == 409 ||
        status == 422)
        return ERR_OK;
    if (status == 401 || status == 403)
        return err_fatal(err, EXIT_PERMISSION, "registry_denied",
                         "the registry %s refused us with status %ld; check [schema] "
                         "username and password",
                         registry->url, status);
    char why[64];
    snprintf(why, sizeof why, "status %ld", status);
    return unavailable(registry, why, err);
}

/*
 * One call; `body` (may be NULL) is stolen. `*ret_json` is the answer's object, NULL for
 * a status of 404. Anything that is no JSON object counts as no answer.
 */
static enum err_kind
call(struct registry *registry,
     const char *method,
     const struct buf *url,
     json_t *body,
     long *ret_status,
     json_t **ret_json,
     struct err *err)
{
    CLEANUP(free_json) json_t *owned = body;
    CLEANUP(free_text)
    char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
    struct http_request request = {
        .method = method,
        .url = url->data,
        .content_type = text ? CONTENT : NULL,
        .accept = ACCEPT,
        .body = slice_of(text),
    };
    CLEANUP(http_response_done) struct http_response response = {0};
    struct err cause;
    switch (http_call(registry->http, &request, &response, &cause)) {
    case ERR_OK:
        break;
    case ERR_RETRY:
        return unavailable(registry, cause.msg, err);
    case ERR_RECORD:
    case ERR_FATAL:
    default:
        *err = cause;
        return err->kind;
    }
    if (check_status(registry, response.status, err))
        return err->kind;
    *ret_status = response.status;
    json_error_t where;
    struct slice answer = buf_slice(&response.body);
    *ret_json = json_loadb(answer.data, answer.len, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(*ret_json) && response.status < 300) {
        json_decref(*ret_json);
        *ret_json = NULL;
        return unavailable(registry, "the answer is no JSON object", err);
    }
    return ERR_OK;
}

/* URL "BASE/PREFIX/SUBJECT/SUFFIX", terminated. */
static void
subject_url(const struct registry *registry,
            const char *prefix,
            const char *subject,
            const char *suffix,
            struct buf *url)
{
    buf_addf(url, "%s%s", registry->url, prefix);
    http_add_escaped(url, slice_of(subject));
    buf_add_str(url, suffix);
    buf_text(url);
}

static enum err_kind
fetch(struct registry *registry, uint32_t id, json_t **ret_json, struct err *err)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    buf_addf(&url, "%s/schemas/ids/%u", registry->url, id);
    buf_text(&url);
    long status = 0;
    if (call(registry, "GET", &url, NULL, &status, ret_json, err))
        return err->kind;
    if (status == 404)
        return deny(registry, id, err);
    const char *text = json_string_value(json_object_get(*ret_json, "schema"));
    const char *type = json_string_value(json_object_get(*ret_json, "schemaType"));
    if (status >= 300 || !text || (type && strcmp(type, "AVRO") != 0))
        return unavailable(registry, "the answer holds no Avro schema", err);
    return ERR_OK;
}

enum err_kind
registry_by_id(struct registry *registry,
               uint32_t id,
               struct slice *ret_text,
               struct err *err)
{
    const struct known *known = find_known(registry, id);
    if (known) {
        *ret_text = (struct slice){known->text, known->len};
        return ERR_OK;
    }
    CLEANUP(free_json) json_t *json = NULL;
    enum err_kind kind = fetch(registry, id, &json, err);
    if (kind == ERR_OK) {
        json_t *text = json_object_get(json, "schema");
        struct slice schema = {json_string_value(text), json_string_length(text)};
        forget_denied(registry, id);
        write_cached(registry, id, schema);
        return remember(registry, id, schema, ret_text, err);
    }
    CLEANUP(buf_done) struct buf copy;
    buf_init(&copy, MAX_SCHEMA_BYTES);
    if (kind == ERR_RETRY && strcmp(err->code, "registry_unavailable") == 0 &&
        read_cached(registry, id, &copy))
        return remember(registry, id, buf_slice(&copy), ret_text, err);
    return kind;
}

static enum err_kind
source_by_id(void *state, uint32_t id, struct slice *ret_text, struct err *err)
{
    return registry_by_id(state, id, ret_text, err);
}

static json_t *
schema_body(struct slice text)
{
    return json_pack("{s:s%, s:s}", "schema", text.data, text.len, "schemaType", "AVRO");
}

/* The registry's own words about a refusal. */
static const char *
words(const json_t *json)
{
    const char *message = json_string_value(json_object_get(json, "message"));
    return message ? message : "no reason given";
}

static enum err_kind
id_of(const struct registry *registry,
      const json_t *json,
      uint32_t *ret_id,
      struct err *err)
{
    const json_t *id = json_object_get(json, "id");
    if (!json_is_integer(id) || json_integer_value(id) <= 0 ||
        json_integer_value(id) > UINT32_MAX)
        return unavailable(registry, "the answer holds no id", err);
    *ret_id = (uint32_t)json_integer_value(id);
    return ERR_OK;
}

static enum err_kind
refused(const struct registry *registry,
        const char *subject,
        long status,
        const json_t *json,
        struct err *err)
{
    return err_set(err, ERR_RECORD,
                   status == 409 ? "schema_incompatible" : "schema_refused",
                   "the registry %s refused the schema of %s with status %ld: %s",
                   registry->url, subject, status, words(json));
}

enum err_kind
registry_register(struct registry *registry,
                  const char *subject,
                  struct slice text,
                  uint32_t *ret_id,
                  struct err *err)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    subject_url(registry, "/subjects/", subject, "/versions", &url);
    CLEANUP(free_json) json_t *json = NULL;
    long status = 0;
    if (call(registry, "POST", &url, schema_body(text), &status, &json, err))
        return err->kind;
    if (status >= 300)
        return refused(registry, subject, status, json, err);
    return id_of(registry, json, ret_id, err);
}

enum err_kind
registry_lookup(struct registry *registry,
                const char *subject,
                struct slice text,
                uint32_t *ret_id,
                struct err *err)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    subject_url(registry, "/subjects/", subject, "", &url);
    CLEANUP(free_json) json_t *json = NULL;
    long status = 0;
    *ret_id = 0;
    if (call(registry, "POST", &url, schema_body(text), &status, &json, err))
        return err->kind;
    if (status == 404)
        return ERR_OK;
    if (status >= 300)
        return refused(registry, subject, status, json, err);
    return id_of(registry, json, ret_id, err);
}

static enum err_kind
source_id_of(void *state,
             const char *subject,
             struct slice text,
             uint32_t *ret_id,
             struct err *err)
{
    struct registry *registry = state;
    uint32_t id = 0;
    if (registry_lookup(registry, subject, text, &id, err))
        return err->kind;
    if (id == 0 && !registry->registers)
        return err_fatal(err, EXIT_CONFIG, "schema_not_registered",
                         "the registry %s does not know our schema of %s; register it "
                         "with `heddle schema register --execute`, or set register = yes "
                         "in [schema]",
                         registry->url, subject);
    /* Refused is a matter of the configuration, not of the record at hand. */
    if (id == 0 && registry_register(registry, subject, text, &id, err))
        return err->kind == ERR_RECORD
                   ? err_fatal(err, EXIT_CONFIG, "schema_incompatible",
                               "the registry %s refused our schema of %s; see `heddle "
                               "schema register`",
                               registry->url, subject)
                   : err->kind;
    *ret_id = id;
    return ERR_OK;
}

struct schema_source
registry_source(struct registry *registry)
{
    return (struct schema_source){source_by_id, registry, source_id_of};
}

enum err_kind
registry_by_version(struct registry *registry,
                    const char *subject,
                    const char *version,
                    char **ret_text,
                    uint32_t *ret_id,
                    struct err *err)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    subject_url(registry, "/subjects/", subject, "/versions/", &url);
    http_add_escaped(&url, slice_of(version));
    buf_text(&url);
    CLEANUP(free_json) json_t *json = NULL;
    long status = 0;
    *ret_text = NULL;
    if (call(registry, "GET", &url, NULL, &status, &json, err))
        return err->kind;
    if (status == 404)
        return ERR_OK;
    const char *text = json_string_value(json_object_get(json, "schema"));
    if (status >= 300 || !text)
        return unavailable(registry, "the answer holds no schema", err);
    if (id_of(registry, json, ret_id, err))
        return err->kind;
    *ret_text = strdup(text);
    return *ret_text ? ERR_OK : err_no_memory(err, "a schema");
}

enum err_kind
registry_compatible(struct registry *registry,
                    const char *subject,
                    struct slice text,
                    bool *ret_compatible,
                    struct err *err)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    subject_url(registry, "/compatibility/subjects/", subject, "/versions", &url);
    CLEANUP(free_json) json_t *json = NULL;
    long status = 0;
    if (call(registry, "POST", &url, schema_body(text), &status, &json, err))
        return err->kind;
    if (status == 404) {
        *ret_compatible = true;
        return ERR_OK;
    }
    const json_t *answer = json_object_get(json, "is_compatible");
    if (status >= 300)
        return refused(registry, subject, status, json, err);
    if (!json_is_boolean(answer))
        return unavailable(registry, "the answer holds no verdict", err);
    *ret_compatible = json_is_true(answer);
    return ERR_OK;
}

enum err_kind
registry_set_level(struct registry *registry,
                   const char *subject,
                   const char *level,
                   struct err *err)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;
    subject_url(registry, "/config/", subject, "", &url);
    CLEANUP(free_json) json_t *json = NULL;
    long status = 0;
    json_t *body = json_pack("{s:s}", "compatibility", level);
    if (call(registry, "PUT", &url, body, &status, &json, err))
        return err->kind;
    return status < 300 ? ERR_OK : refused(registry, subject, status, json, err);
}

/* --- life ----------------------------------------------------------------------------
 */

struct registry *
registry_new(const struct registry_settings *settings, struct err *err)
{
    struct registry *registry = calloc(1, sizeof *registry);
    if (!registry) {
        err_no_memory(err, "the registry client");
        return NULL;
    }
    registry->unknown_grace_ms = settings->unknown_grace_ms;
    registry->registers = settings->registers;
    registry->url = strdup(settings->url);
    if (!registry->url) {
        err_no_memory(err, "the registry client");
        goto fail;
    }
    for (size_t n = strlen(registry->url); n > 0 && registry->url[n - 1] == '/'; n--)
        registry->url[n - 1] = '\0';
    registry->http = http_new(&settings->http, err);
    if (!registry->http)
        goto fail;
    if (settings->cache_dir) {
        registry->cache_dir = cache_dir_of(settings, err);
        if (!registry->cache_dir)
            goto fail;
    }
    return registry;

fail:
    registry_free(registry);
    return NULL;
}

void
registry_free(struct registry *registry)
{
    if (!registry)
        return;
    for (size_t i = 0; i < registry->n_known; i++)
        free(registry->known[i].text);
    free(registry->known);
    free(registry->cache_dir);
    free(registry->url);
    http_free(registry->http);
    free(registry);
}
