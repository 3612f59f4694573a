/* SPDX-License-Identifier: Apache-2.0 */
/* What derive reads of the settings of a split. */
#include "split_settings.h"

struct split_limits
split_settings_limits(const struct split_settings *settings)
{
    return (struct split_limits){
        .max_bytes = (uint64_t)settings->max_bytes,
        .max_ratio = (uint64_t)settings->max_ratio,
        .max_event_bytes = (uint64_t)settings->max_event_bytes,
        .max_strings = (uint64_t)settings->max_strings,
        .zstd_window_log = (int)settings->zstd_window_log,
        .index_memory = (uint64_t)settings->index_memory,
    };
}
