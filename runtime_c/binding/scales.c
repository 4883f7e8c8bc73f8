#include "toolkit.h"
#include "wide.h"

#include <math.h>
#include <stddef.h>

/* Sums come in LANES parts, the same whatever the width of vectors. */

enum { LANES = 8 };

static double squared_error(double v, double scale, double limit)
{
    double whole = ek_nearest(v / scale);
    whole = whole < limit ? whole : limit;
    double off = whole * scale - v;
    return off * off;
}

/* The squared error of a row in steps of `scale`, weighed by `counts` unless NULL. */
WIDE static double row_error(const double *restrict row, const double *restrict counts, int32_t k, double scale,
                             double limit)
{
    double sums[LANES] = { 0 }, sum = 0;
    int32_t j = 0;
    if (counts == NULL) {
        for (; j + LANES <= k; j += LANES)
            for (int32_t i = 0; i < LANES; i++) sums[i] += squared_error(row[j + i], scale, limit);
    } else {
        for (; j + LANES <= k; j += LANES)
            for (int32_t i = 0; i < LANES; i++) sums[i] += squared_error(row[j + i], scale, limit) * counts[j + i];
    }
    for (; j < k; j++) sum += squared_error(row[j], scale, limit) * (counts == NULL ? 1 : counts[j]);
    for (int32_t i = 0; i < LANES; i++) sum += sums[i];
    return sum;
}

void ek_least_error_f64(const double *rows, const double *counts, int32_t n, int32_t k, double limit,
                        const double *fractions, int32_t tried, double *scales)
{
    for (int32_t i = 0; i < n; i++) {
        double top = scales[i], least = INFINITY;
        const double *counted = counts == NULL ? NULL : counts + (size_t)i * k;
        for (int32_t f = 0; f < tried && top > 0; f++) {
            double scale = top * fractions[f], error = row_error(rows + (size_t)i * k, counted, k, scale, limit);
            if (error < least) {
                least = error;
                scales[i] = scale;
            }
        }
    }
}
