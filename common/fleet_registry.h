/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of the shared settings, opened. */
#pragma once

#include "err.h"
#include "fleet_options.h"
#include "registry.h"

/*
 * The client of [schema] registry, with its copies in `schemas` of the state folder
 * unless cache_dir says otherwise. NULL without touching `err` when no registry is set.
 */
struct registry *fleet_registry_open(const struct fleet_settings *fleet, struct err *err);
