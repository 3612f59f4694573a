/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schema registry that speaks Confluent's API (also Apicurio's under /apis/ccompat/v7
 * and Karapace's): schema id <-> schema text. What was fetched once is kept in memory and
 * on disk, so that known ids go on working while the registry is away.
 *
 * The registry is asked once per id and process; the copy on disk serves only while it
 * can't answer, so a registry that was emptied and filled anew is never read from an old
 * copy.
 */
#pragma once

#include "err.h"
#include "http.h"
#include "serde.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

struct registry;

struct registry_settings {
    const char *url; /* base of the API, "http://host:8081" */
    struct http_settings http;
    const char *cache_dir;    /* NULL: no copy on disk */
    int64_t unknown_grace_ms; /* how long a denied id is asked for again */
    bool registers;           /* our own schemas, when they are not there yet */
};

/* ERR_FATAL EXIT_CONFIG for an unusable address or cache folder. */
struct registry *registry_new(const struct registry_settings *settings, struct err *err);
void registry_free(struct registry *registry);

/*
 * Text of schema `id`, borrowed until registry_free.
 * ERR_RETRY "registry_unavailable" while it can't answer (refused, timeout, 5xx, 429, an
 * answer that is no answer) and no copy is there; ERR_RETRY "schema_unknown" while a
 * denied id (404) is within the grace, then ERR_RECORD "schema_unknown"; ERR_FATAL
 * EXIT_PERMISSION "registry_denied" (401, 403).
 */
enum err_kind registry_by_id(struct registry *registry,
                             uint32_t id,
                             struct slice *ret_text,
                             struct err *err);
/*
 * The same as a schema source for serde_new and outbox_new. Its ids of our own schemas
 * are looked up, and registered only with `registers`; else a schema that is not there is
 * ERR_FATAL EXIT_CONFIG "schema_not_registered".
 */
struct schema_source registry_source(struct registry *registry);

/* Registers `text`, as it stands, under `subject`. ERR_RECORD "schema_incompatible"
 * (409). */
enum err_kind registry_register(struct registry *registry,
                                const char *subject,
                                struct slice text,
                                uint32_t *ret_id,
                                struct err *err);
/* Id of `text` under `subject`; 0 when it is not registered there. */
enum err_kind registry_lookup(struct registry *registry,
                              const char *subject,
                              struct slice text,
                              uint32_t *ret_id,
                              struct err *err);
/*
 * Text and id of a version ("latest" or a number). `ret_text` is a malloc()ed,
 * terminated copy; NULL with ERR_OK when subject or version is not there.
 */
enum err_kind registry_by_version(struct registry *registry,
                                  const char *subject,
                                  const char *version,
                                  char **ret_text,
                                  uint32_t *ret_id,
                                  struct err *err);
/* Is `text` compatible with the subject's versions? True too when it has none. */
enum err_kind registry_compatible(struct registry *registry,
                                  const char *subject,
                                  struct slice text,
                                  bool *ret_compatible,
                                  struct err *err);
/* Sets the subject's level, "FULL_TRANSITIVE". */
enum err_kind registry_set_level(struct registry *registry,
                                 const char *subject,
                                 const char *level,
                                 struct err *err);
