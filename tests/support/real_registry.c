/* SPDX-License-Identifier: Apache-2.0 */
/* Apicurio Registry around a test. */
#include "real_registry.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

bool
real_registry_here(const char *name, int *ret_status)
{
    return local_server_here("registry-local", name, ret_status);
}

static bool
start(struct real_registry *registry)
{
    char text[TEXT_BYTES];
    if (!local_server_call(&registry->server, "start", NULL, LOCAL_SERVER_START_MS, text,
                           sizeof text))
        return false;
    /* The address is a line of its own; what is said on stderr has its name before. */
    const char *url = strncmp(text, "http://", 7) == 0 ? text : strstr(text, "\nhttp://");
    if (!url)
        return false;
    url += *url == '\n';
    snprintf(registry->url, sizeof registry->url, "%.*s", (int)strcspn(url, "\n"), url);
    return true;
}

bool
real_registry_start(struct real_registry *registry)
{
    *registry = (struct real_registry){.server.guard = -1};
    if (!local_server_open(&registry->server, "registry-local"))
        return false;
    if (start(registry))
        return true;
    fprintf(stderr, "the registry did not come up\n");
    real_registry_stop(registry);
    return false;
}

bool
real_registry_kill(struct real_registry *registry)
{
    return local_server_call(&registry->server, "kill", NULL, LOCAL_SERVER_CALL_MS, NULL,
                             0);
}

bool
real_registry_restart(struct real_registry *registry)
{
    return start(registry);
}

void
real_registry_stop(struct real_registry *registry)
{
    local_server_close(&registry->server);
}
