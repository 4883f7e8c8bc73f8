#include "calibration.h"
#include "wide.h"

#include <stddef.h>
#include <string.h>

/* Extremes and counts are the same in any order; sums come in the order of rows, whatever the width of vectors. */

enum { PIECE = 512, CHANNELS = 16 };

/* Integers in the order of floats: -0 before 0, NaN beyond infinity on either side. */
static int32_t key_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ ((bits >> 31) & INT32_MAX);
}

static float of_key(int32_t key)
{
    int32_t bits = key ^ ((key >> 31) & INT32_MAX);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

WIDE void ek_extremes_f32(const float *x, int64_t count, float *low, float *high)
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t i = 0; i < count; i++) {
        int32_t key = key_of(x[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *low = of_key(least);
    *high = of_key(most);
}

/* places = floor(x * inverse) - first; what is negative lies below 0 even where the product underflows. Zeros, which
   are frequent, are dealt to some places from `bins` on: a count waits for the one before it at the same place. */
WIDE static void places_of(const float *x, int32_t count, float inverse, int32_t first, int32_t bins, int32_t *places)
{
    for (int32_t i = 0; i < count; i++) {
        float scaled = x[i] * inverse;
        int32_t whole = (int32_t)scaled, zero = -(x[i] == 0);
        int32_t below = ((float)whole > scaled) | ((x[i] < 0) & (whole == 0));
        places[i] = ((whole - below - first) & ~zero) | ((bins + (i & (EK_SPARE_BINS - 1))) & zero);
    }
}

int64_t ek_histogram_f32(const float *x, int64_t count, float inverse, int32_t first, int32_t bins, int64_t *counts)
{
    int32_t places[PIECE];
    int64_t zeros = 0;
    for (int64_t at = 0; at < count; at += PIECE) {
        int32_t piece = count - at < PIECE ? (int32_t)(count - at) : PIECE;
        places_of(x + at, piece, inverse, first, bins, places);
        for (int32_t i = 0; i < piece; i++) counts[places[i]]++;
    }
    for (int32_t i = 0; i < EK_SPARE_BINS; i++) {
        zeros += counts[bins + i];
        counts[bins + i] = 0;
    }
    return zeros;
}

/* Of `width` channels: a constant for whole tiles, whose sums then stay in registers. */
static inline void sums_of(const float *x, int64_t rows, int32_t channels, int32_t width, int32_t power, double *sums)
{
    double sum[CHANNELS] = { 0 };
    for (int64_t row = 0; row < rows; row++, x += channels)
        for (int32_t j = 0; j < width; j++) sum[j] += power == 2 ? (double)x[j] * (double)x[j] : (double)x[j];
    memcpy(sums, sum, (size_t)width * sizeof *sums);
}

WIDE void ek_channel_sums_f32(const float *x, int64_t rows, int32_t channels, int32_t power, double *sums)
{
    int32_t at = 0;
    for (; at + CHANNELS <= channels; at += CHANNELS) {
        if (power == 2)
            sums_of(x + at, rows, channels, CHANNELS, 2, sums + at);
        else
            sums_of(x + at, rows, channels, CHANNELS, 1, sums + at);
    }
    if (at < channels) sums_of(x + at, rows, channels, channels - at, power, sums + at);
}
