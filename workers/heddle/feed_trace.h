/* SPDX-License-Identifier: Apache-2.0 */
/* One trace with what is asked of it: is it new, is it whole, and then off it goes. */
#pragma once

#include "feed_run.h"

/*
 * As feed_run(). A file of what is asked that can't be read or is wrong is told, and the
 * trace left out: it would be split for a request that nobody made.
 */
enum err_kind feed_trace(const struct feed_target *target,
                         const struct campaign_trace *trace,
                         enum feed_outcome *ret_outcome,
                         struct err *ret_why,
                         struct err *err);
