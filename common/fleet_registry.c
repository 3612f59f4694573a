/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the registry of the shared settings. */
#include "fleet_registry.h"

#include <stdlib.h>

#include "cleanup.h"
#include "config.h"

static void
free_text(char **text)
{
    free(*text);
}

struct registry *
fleet_registry_open(const struct fleet_settings *fleet, struct err *err)
{
    struct registry_settings settings = fleet_registry_settings(fleet);
    CLEANUP(free_text) char *dir = NULL;
    if (!settings.url)
        return NULL;
    if (!settings.cache_dir) {
        dir = config_state_dir(fleet->state_dir, "schemas", true, err);
        if (!dir)
            return NULL;
        settings.cache_dir = dir;
    }
    return registry_new(&settings, err);
}
