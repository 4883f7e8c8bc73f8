#include "calibration.h"
#include "wide.h"

#include <math.h>
#include <stddef.h>

/* Each element is computed alone, and sums come in order: the same whatever the width of vectors. */

typedef struct {
    const double *counts, *moments;
    int32_t bins, first;
    double width;
} ek_bins;

/* The integral of (v - round(v))^2 over v from 0 to u. */
static inline double primitive_of(double u)
{
    double whole = ek_nearest(u), apart = u - whole;
    return whole / 12 + apart * apart * apart / 3;
}

static double edge(const ek_bins *b, int32_t i)
{
    return (double)(b->first + i) * b->width;
}

static int32_t bin_of(const ek_bins *b, double at)
{
    int32_t k = (int32_t)floor(at / b->width) - b->first;
    return k < 0 ? 0 : k < b->bins ? k : b->bins - 1;
}

static double within(const ek_bins *b, double v)
{
    double low = edge(b, 0), high = edge(b, b->bins);
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* The squared distances to `to` of all values below `at`. */
static double below(const ek_bins *b, double at, double to)
{
    size_t k = (size_t)bin_of(b, at), all = (size_t)b->bins + 1;
    double left = at - edge(b, (int32_t)k);
    double m0 = b->moments[k], m1 = b->moments[all + k], m2 = b->moments[2 * all + k];
    return m2 - 2 * to * m1 + to * to * m0 + b->counts[k] / b->width * (left * left * left) / 3;
}

static double above(const ek_bins *b, double at, double to)
{
    size_t k = (size_t)bin_of(b, at), all = (size_t)b->bins + 1, end = (size_t)b->bins;
    double right = edge(b, (int32_t)k + 1) - at;
    double m0 = b->moments[end] - b->moments[k + 1];
    double m1 = b->moments[all + end] - b->moments[all + k + 1];
    double m2 = b->moments[2 * all + end] - b->moments[2 * all + k + 1];
    return m2 - 2 * to * m1 + to * to * m0 + b->counts[k] / b->width * (right * right * right) / 3;
}

/* primitive [count + 1] at the edges from number `start` on. */
WIDE static void primitives(double start, int32_t count, double width, double step, double *primitive)
{
    for (int32_t i = 0; i <= count; i++) primitive[i] = primitive_of((start + (double)i) * width / step);
}

/* rounding [points]: the squared rounding error of all values below each of the points `at`, up to a constant. */
static void rounding_below(const ek_bins *b, const double *at, int32_t points, double step, double cubed, double *work,
                           double *rounding)
{
    int32_t start = bin_of(b, at[0]), count = bin_of(b, at[points - 1]) + 1 - start;
    double *primitive = work, *total = work + count + 1;
    const double *counts = b->counts + start;
    primitives((double)(b->first + start), count, b->width, step, primitive);
    total[0] = 0;
    for (int32_t i = 0; i < count; i++) total[i + 1] = total[i] + counts[i] * cubed * (primitive[i + 1] - primitive[i]);
    for (int32_t i = 0; i < points; i++) {
        int32_t k = bin_of(b, at[i]) - start;
        rounding[i] = total[k] + counts[k] * cubed * (primitive_of(at[i] / step) - primitive[k]);
    }
}

void ek_range_errors_f64(const double *counts, const double *moments, int32_t bins, int32_t first, double width,
                         double step, double cubed, int32_t levels, double most, double *work, double *errors)
{
    const ek_bins b = { counts, moments, bins, first, width };
    int32_t top = levels - 1, points = 2 * top + 1; /* point i is (i - top) * step */
    double *at = work, *over = at + points, *rounding = over + levels, least = INFINITY;
    for (int32_t i = 0; i < points; i++) at[i] = within(&b, (double)(i - top) * step);
    for (int32_t z = 0; z < levels; z++) {
        errors[z] = first == 0 ? 0 : below(&b, at[top - z], (double)-z * step);
        over[z] = above(&b, at[points - 1 - z], (double)(top - z) * step);
        least = errors[z] + over[z] < least ? errors[z] + over[z] : least;
    }
    if (least <= most) rounding_below(&b, at, points, step, cubed, rounding + points, rounding);
    for (int32_t z = 0; z < levels; z++) {
        double sum = least <= most ? rounding[points - 1 - z] - rounding[top - z] + errors[z] + over[z] : INFINITY;
        errors[z] = sum > 0 ? sum : 0;
    }
}
