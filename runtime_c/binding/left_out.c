#include "toolkit.h"
#include "wide.h"

/* Sums that a row of squares is added to by turns: in one order, whatever the width of vectors. */
enum { TURNS = 8 };

/* sums [TURNS] += the squares of whole - part [k]. */
WIDE static void add_squares(const double *restrict whole, const int32_t *restrict part, int32_t k,
                             double *restrict sums)
{
    int32_t i = 0;
    for (; i + TURNS <= k; i += TURNS) {
        for (int j = 0; j < TURNS; j++) {
            double rest = whole[i + j] - (part ? part[i + j] : 0);
            sums[j] += rest * rest;
        }
    }
    for (int j = 0; i + j < k; j++) {
        double rest = whole[i + j] - (part ? part[i + j] : 0);
        sums[j] += rest * rest;
    }
}

double ek_squares_without_f64(const double *whole, const int32_t *part, int32_t groups, int32_t k)
{
    double sums[TURNS] = { 0 }, found = 0;
    for (int64_t row = 0; row < (int64_t)groups * k; row++) {
        int64_t at = row * k, middle = row % k;
        add_squares(whole + at, part ? part + at : NULL, (int32_t)middle, sums);
        at += middle + 1;
        add_squares(whole + at, part ? part + at : NULL, k - (int32_t)middle - 1, sums);
    }
    for (int j = 0; j < TURNS; j++) found += sums[j];
    return found;
}

/* out [k] = factor * ((whole - part) / count - mean means). */
WIDE static void about_means(const double *restrict whole, const int32_t *restrict part, int32_t k, double count,
                             double factor, double mean, const double *restrict means, float *restrict out)
{
    if (part)
        for (int32_t j = 0; j < k; j++) out[j] = (float)(factor * ((whole[j] - part[j]) / count - mean * means[j]));
    else
        for (int32_t j = 0; j < k; j++) out[j] = (float)(factor * (whole[j] / count - mean * means[j]));
}

void ek_moments_without_f32(const double *whole, const int32_t *part, int32_t groups, int32_t k, double count,
                            double factor, const double *means, const double *diagonal, float *out)
{
    for (int64_t row = 0; row < (int64_t)groups * k; row++) {
        int64_t at = row * k, middle = row % k;
        about_means(whole + at, part ? part + at : NULL, k, count, factor, means[row], means + row - middle, out + at);
        out[at + middle] = (float)diagonal[row];
    }
}
