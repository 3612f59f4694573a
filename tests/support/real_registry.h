/* SPDX-License-Identifier: Apache-2.0 */
/* A real schema registry (Apicurio, ops/registry-local) for one test program. */
#pragma once

#include "local_server.h"

struct real_registry {
    struct local_server server;
    char url[128]; /* of its Confluent API */
};

/* See local_server_here(). */
bool real_registry_here(const char *name, int *ret_status);
/* False with a line on stderr. */
bool real_registry_start(struct real_registry *registry);
/* kill -9, as a crash; what was registered stays. */
bool real_registry_kill(struct real_registry *registry);
/* Starts it again, on the same port. */
bool real_registry_restart(struct real_registry *registry);
/* Ends it and removes its data. Safe to call twice. */
void real_registry_stop(struct real_registry *registry);
