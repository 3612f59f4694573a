/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant of the structural index this machine runs. */
#include "quotes.h"
#include "scan.h"

#include <stdatomic.h>

/* A choice of speed alone: every variant gives the same index. */
static atomic_int forced = SCAN_VARIANTS;

static const struct {
    const char *name;
    quotes_index *index;
} variants[SCAN_VARIANTS] = {
#ifdef __x86_64__
    [SCAN_AVX512] = {"avx512", quotes_avx512},
    [SCAN_AVX2] = {"avx2", quotes_avx2},
    [SCAN_SSE] = {"sse", quotes_sse},
#else
    [SCAN_AVX512] = {"avx512", quotes_portable},
    [SCAN_AVX2] = {"avx2", quotes_portable},
    [SCAN_SSE] = {"sse", quotes_portable},
#endif
    [SCAN_PORTABLE] = {"portable", quotes_portable},
};

const char *
scan_variant_name(enum scan_variant variant)
{
    return variant < SCAN_VARIANTS ? variants[variant].name : "none";
}

bool
scan_variant_runs(enum scan_variant variant)
{
#ifdef __x86_64__
    if (variant == SCAN_AVX512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("pclmul");
    if (variant == SCAN_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul");
    if (variant == SCAN_SSE)
        return true;
#endif
    return variant == SCAN_PORTABLE;
}

enum scan_variant
scan_variant_in_use(void)
{
    int wanted = atomic_load_explicit(&forced, memory_order_relaxed);
    if (wanted < SCAN_VARIANTS)
        return (enum scan_variant)wanted;
    enum scan_variant variant = SCAN_AVX512;
    while (!scan_variant_runs(variant))
        variant++;
    return variant;
}

void
scan_variant_force(enum scan_variant variant)
{
    bool is_usable = variant < SCAN_VARIANTS && scan_variant_runs(variant);
    atomic_store_explicit(&forced, is_usable ? (int)variant : SCAN_VARIANTS,
                          memory_order_relaxed);
}

quotes_index *
quotes_index_in_use(void)
{
    return variants[scan_variant_in_use()].index;
}
