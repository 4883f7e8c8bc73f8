/* What the checks of int16 kernels share. */
#ifndef EDGEKIT_CHECK_S16_H
#define EDGEKIT_CHECK_S16_H

#include <inttypes.h>
#include <stdio.h>

#include "check.h"

/* All minimum, all maximum, a mix of extremes, or uniform. */
static inline void fill_s16(int16_t *p, size_t count)
{
    const uint32_t kind = rnd() % 5;
    for (size_t i = 0; i < count; i++) {
        const uint32_t v = rnd();
        p[i] = kind == 0   ? INT16_MIN
               : kind == 1 ? INT16_MAX
               : kind == 2 ? (v & 256 ? INT16_MIN : INT16_MAX)
                           : (int16_t)(v >> 8);
    }
}

static inline block inputs(size_t count)
{
    block b = block_make(count * 2, 2);
    fill_s16(b.data, count);
    return b;
}

static inline bool differs(const output *want, const output *got, const char *slot, const ek_kernels *opt,
                           uint32_t trial, const char *sizes)
{
    ptrdiff_t where;
    if (output_equal(want, got, &where)) return false;
    printf("%s of %s differs in trial %" PRIu32 ": %s, at byte %ld\n", slot, opt->name, trial, sizes, (long)where);
    return true;
}

#endif
