/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a tuning event that were sent as claims, fetched. */
#pragma once

#include "claim.h"
#include "tuning_event.h"

/*
 * Makes every payload of `event` inline. `*ret_facts` names what was fetched, in the
 * order of the event (struct fact: "result", "log:<tuner>", "e2e"). Errors of
 * claim_fetch().
 */
enum err_kind audit_gather(const struct claim_limits *limits,
                           struct tuning_event *event,
                           struct arena *arena,
                           struct list *ret_facts,
                           struct err *err);
