/* Sums and maxima of int16 elements, channels side by side. */
#ifndef EK_SUMS_S16_H
#define EK_SUMS_S16_H

#include "fixed_point.h"
#include "op.h"

/* -32768 is never made, even where a file's data holds it. */
#define EK_LEAST_S16 (-32767)

/* Sums of `count` elements stay below 2^39. */
static inline bool ek_check_sum_s16(uint64_t count, int32_t multiplier, int32_t shift)
{
    return count < UINT64_C(1) << 24 && ek_is_ratio16(multiplier, shift);
}

/* acc[j] += sum_{i < count} in[i * step + j] for j < c. */
void ek_sum_s16(int64_t *acc, const int16_t *in, size_t step, size_t count, size_t c);
/* out[j] = max(out[j], max_{i < count} in[i * step + j]) for j < c. */
void ek_max_s16(int16_t *out, const int16_t *in, size_t step, size_t count, size_t c);

#endif
