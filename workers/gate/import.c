/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and files of an older splitter. */
#include "import.h"

static const char *const suffixes[] = {".trace.json.gz", ".json.gz", ".trace.json",
                                       ".json"};

enum { SUFFIXES = sizeof suffixes / sizeof suffixes[0] };

const char *const import_outcome_names[] = {
    "selected",
    "bad_mode",
    "no_steady_state",
    "chunk_missing",
};

/* [+-]digits, or with one or two of them behind a point. */
static bool
is_coarse(struct slice text)
{
    size_t i = text.len && (text.data[0] == '+' || text.data[0] == '-');
    size_t begin = i;
    while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9')
        i++;
    if (i == begin)
        return false;
    if (i == text.len)
        return true;
    if (text.data[i++] != '.')
        return false;
    begin = i;
    while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9')
        i++;
    return i == text.len && i - begin <= 2;
}

void
import_read_row(const struct import_row *row, struct import_numbers *ret_numbers)
{
    struct amount events = amount_of_text(row->num_gpu_events);
    *ret_numbers = (struct import_numbers){
        .num_gpu_events = events.known ? trunc(events.value) : 0,
        .gpu_duration_us = amount_of_text(row->gpu_duration),
        .gpu_busy_duration_us = amount_of_text(row->gpu_busy_duration),
        .busy_ratio = amount_of_text(row->busy_ratio),
    };
    struct amount wall = amount_nanoseconds(ret_numbers->gpu_duration_us);
    struct amount busy = amount_nanoseconds(ret_numbers->gpu_busy_duration_us);
    if (is_coarse(amount_trim(row->busy_ratio)) && amount_usable(wall) &&
        wall.value > 0 && amount_usable(busy))
        ret_numbers->busy_ratio = AMOUNT_UNKNOWN;
}

struct chunk_numbers
import_chunk_numbers(const struct import_numbers *numbers)
{
    return (struct chunk_numbers){
        .num_gpu_events = AMOUNT(numbers->num_gpu_events),
        .gpu_duration_ns = amount_nanoseconds(numbers->gpu_duration_us),
        .gpu_busy_duration_ns = amount_nanoseconds(numbers->gpu_busy_duration_us),
        .busy_ratio = numbers->busy_ratio,
    };
}

static struct slice
base_name(struct slice path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.data[i - 1] == '/')
            return (struct slice){path.data + i, path.len - i};
    return path;
}

static int
suffix_of(struct slice name)
{
    for (int i = 0; i < SUFFIXES; i++) {
        size_t len = strlen(suffixes[i]);
        if (name.len >= len && memcmp(name.data + name.len - len, suffixes[i], len) == 0)
            return i;
    }
    return SUFFIXES;
}

/* A per-iteration file: it holds one step of the trace, no steady state. */
static bool
is_iteration(struct slice name)
{
    static const char mark[] = "_iteration_";
    return name.len && memmem(name.data, name.len, mark, sizeof mark - 1);
}

enum gate_mode
import_family_of(struct slice path, int *ret_suffix)
{
    struct slice name = base_name(path);
    int suffix = suffix_of(name);
    if (ret_suffix)
        *ret_suffix = suffix;
    if (suffix == SUFFIXES || is_iteration(name))
        return MODES;
    for (int i = 0; i < MODES; i++) {
        size_t len = strlen(mode_labels[i]);
        if (name.len > len && memcmp(name.data, mode_labels[i], len) == 0 &&
            name.data[len] == '_')
            return (enum gate_mode)i;
    }
    return MODES;
}

void
import_collect(const struct slice *paths,
               size_t n,
               struct import_family ret_families[MODES])
{
    int best[MODES] = {0};
    memset(ret_families, 0, MODES * sizeof ret_families[0]);
    for (size_t i = 0; i < n; i++) {
        int suffix = 0;
        enum gate_mode mode = import_family_of(paths[i], &suffix);
        if (mode == MODES)
            continue;
        struct import_family *family = &ret_families[mode];
        if (family->n++ == 0 || suffix < best[mode] ||
            (suffix == best[mode] && slice_compare(paths[i], family->selected) < 0)) {
            family->selected = paths[i];
            best[mode] = suffix;
        }
    }
}

enum import_outcome
import_select(const struct import_family families[MODES],
              struct slice requested,
              bool failed,
              bool aborted)
{
    enum gate_mode mode = mode_of(requested);
    size_t n = 0;
    if (mode == MODES)
        return IMPORT_BAD_MODE;
    for (int i = 0; i < MODES; i++)
        n += families[i].n;
    if (failed || aborted || n == 0)
        return IMPORT_NO_STEADY_STATE;
    return families[mode].n ? IMPORT_SELECTED : IMPORT_CHUNK_MISSING;
}
