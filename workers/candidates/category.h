/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel does, by its name and its op's (kernel-table.md 5). */
#pragma once

#include "needles.h"
#include "split_record.h"

/* The two tables, ready to be matched; fill it once for many names. */
struct categories {
    struct needle_set devices;
    struct needle_set ops;
};

void categories_init(struct categories *ret_categories);
/* A static name; "Others" when nothing matches. `op` may be null or empty. */
const char *category_of(const struct categories *categories,
                        struct slice device_name,
                        enum kernel_category category,
                        struct slice op);
