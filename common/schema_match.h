/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well a writer's type fits one of ours, by name and promotion ("Schema Resolution"
 * of the Avro specification 1.11). One rule for the codec's plans and for the
 * compatibility check, so that what is called compatible can be read.
 */
#pragma once

#include "schema_tree.h"

enum schema_fit {
    SCHEMA_FIT_NONE,
    SCHEMA_FIT_PROMOTED, /* int as long, string as bytes … */
    SCHEMA_FIT_NAMED,    /* the last part of the names, or one of our aliases */
    SCHEMA_FIT_EXACT,
};

/* Of two types that are no unions; what lies inside them is not looked at. */
enum schema_fit schema_fit(const struct schema_node *writer,
                           const struct schema_node *reader);
/* Position of the first of the best fitting branches of the union `reader`; n_branches:
 * none. */
size_t schema_fit_branch(const struct schema_node *writer,
                         const struct schema_node *reader);
/*
 * The writer's field that is read as `field` of `reader`: by name, or else by one of its
 * aliases that no field of `reader` has as its name. NULL: none.
 */
const struct schema_field *schema_fit_field(const struct schema_node *writer,
                                            const struct schema_node *reader,
                                            const struct schema_field *field);
