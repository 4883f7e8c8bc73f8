/* Statistics of arrays for calibration/, for the host's Python alone: no part of the runtime. */
#ifndef EDGEKIT_BINDING_CALIBRATION_H
#define EDGEKIT_BINDING_CALIBRATION_H

#include <stdint.h>

/* [cdef] */
/* The least and the largest of x [count], of which there are some; NaN where x has any. */
void ek_extremes_f32(const float *x, int64_t count, float *low, float *high);

/* Count each x but 0 at counts[floor(x * inverse) - first], one of `bins`; inverse is a power of two. Behind these
   there is room for EK_SPARE_BINS more. Returns the number of zeros. */
#define EK_SPARE_BINS 8
int64_t ek_histogram_f32(const float *x, int64_t count, float inverse, int32_t first, int32_t bins, int64_t *counts);

/* sums [channels] of x [rows, channels], or of their squares where power is 2, in the order of rows. */
void ek_channel_sums_f32(const float *x, int64_t rows, int32_t channels, int32_t power, double *sums);

/* Values in bins [first + i, first + i + 1) * width, evenly spread in each of `counts` [bins], have `moments` [3, bins
   + 1] of powers 0, 1 and 2 below each edge. errors [levels]: their summed squared error in multiples of `step`, of
   which zero point z has -z to levels - 1 - z; INFINITY where the least of what is clipped is more than `most`. `cubed`
   is step^3 / width, `work` room for 5 * levels + 2 * (bins + 1) numbers. */
void ek_range_errors_f64(const double *counts, const double *moments, int32_t bins, int32_t first, double width,
                         double step, double cubed, int32_t levels, double most, double *work, double *errors);
/* [/cdef] */

#endif
