/* SPDX-License-Identifier: Apache-2.0 */
/* Which schema a topic's values have (events.md 1). */
#pragma once

#include "field.h"

struct catalog_entry {
    const char *name;  /* of the .avsc: "tuning_event" */
    const char *topic; /* "heddle.tunings" */
    const struct record_type *type;
};

/* Every topic whose values have a schema of ours, in the order of events.md 1. Static. */
const struct catalog_entry *catalog_all(size_t *ret_n);
/* The entry of a topic, NULL when its values have none (heddle.dead) or it is not ours.
 */
const struct catalog_entry *catalog_of_topic(const char *topic);
