#include "toolkit.h"
#include "wide.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Errors of rounding: of rows of weights to multiples of a scale, and of tensors to the steps of their quantization.
   Sums come in so many parts, the same whatever the width of vectors; those of a channel in the order of rows. */

enum { ROW_LANES = 8, LANES = 16, PIECE = 512 };

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
    double sums[ROW_LANES] = { 0 }, sum = 0;
    int32_t j = 0;
    if (counts == NULL) {
        for (; j + ROW_LANES <= k; j += ROW_LANES)
            for (int32_t i = 0; i < ROW_LANES; i++) sums[i] += squared_error(row[j + i], scale, limit);
    } else {
        for (; j + ROW_LANES <= k; j += ROW_LANES)
            for (int32_t i = 0; i < ROW_LANES; i++) sums[i] += squared_error(row[j + i], scale, limit) * counts[j + i];
    }
    for (; j < k; j++) sum += squared_error(row[j], scale, limit) * (counts == NULL ? 1 : counts[j]);
    for (int32_t i = 0; i < ROW_LANES; i++) sum += sums[i];
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

static inline float larger(float a, float b)
{
    return a < b ? b : a;
}

static inline float limited(float v, float low, float high)
{
    v = v < low ? low : v;
    return v > high ? high : v;
}

/* The nearest step; beyond the ends, one that is beyond. NaN stays so. */
static inline float step_of(float x, const ek_steps *s)
{
    const float whole_from_here = 12582912.0F; /* 1.5 * 2^23: half goes to even */
    float scaled = limited(x * s->inverse, s->first - s->zero - 2, s->last - s->zero + 2);
    return scaled + whole_from_here - whole_from_here + s->zero;
}

/* What a step holds, the last one for those beyond it, but at least `low`. */
static inline float held_at(float step, float low, const ek_steps *s)
{
    return larger((limited(step, s->first, s->last) - s->zero) * s->scale, low);
}

static inline double square(float v)
{
    return (double)v * (double)v;
}

static double total(const double *sums)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++) sum += sums[i];
    return sum;
}

WIDE double ek_energy_f32(const float *x, int64_t count)
{
    double sums[LANES] = { 0 };
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES)
        for (int i = 0; i < LANES; i++) sums[i] += square(x[at + i]);
    for (; at < count; at++) sums[0] += square(x[at]);
    return total(sums);
}

/* Of a piece: x at least `floor`, its error, that beyond the ends, and its bin. */
typedef struct piece {
    float x[PIECE], error[PIECE], beyond[PIECE];
    int32_t bin[PIECE];
} piece;

WIDE static void piece_of(piece *p, const float *x, const float *floor, int32_t count, const ek_steps *s)
{
    const float bins = EK_STEP_BINS / (s->last - s->first + 1);
    for (int32_t i = 0; i < count; i++) {
        float low = floor[i], given = larger(x[i], low), step = step_of(x[i], s);
        float error = held_at(step, low, s) - given;
        float place = (limited(step_of(given, s), s->first, s->last) - s->first) * bins;
        p->x[i] = given;
        p->error[i] = error;
        p->beyond[i] = step != limited(step, s->first, s->last) ? error : 0;
        p->bin[i] = (int32_t)(place == place ? place : 0);
    }
}

/* Behind the last of the piece there are zeros, up to a multiple of LANES. */
WIDE static void add_piece(double (*sums)[LANES], const piece *p, int32_t count)
{
    for (int32_t at = 0; at < count; at += LANES)
        for (int i = 0; i < LANES; i++) {
            sums[0][i] += square(p->x[at + i]);
            sums[1][i] += square(p->error[at + i]);
            sums[2][i] += square(p->beyond[at + i]);
        }
}

int64_t ek_step_errors_f32(const float *x, const float *floor, int64_t count, const ek_steps *s, double *sums,
                           int64_t *bins)
{
    double parts[3][LANES] = { { 0 } };
    int64_t clipped = 0;
    float none[PIECE];
    piece p;
    memset(&p, 0, sizeof p);
    for (int32_t i = 0; i < PIECE; i++) none[i] = -INFINITY;
    for (int64_t at = 0; at < count; at += PIECE) {
        const int32_t some = count - at < PIECE ? (int32_t)(count - at) : PIECE;
        piece_of(&p, x + at, floor == NULL ? none : floor + at, some, s);
        for (int32_t i = some; i % LANES != 0; i++) p.x[i] = p.error[i] = p.beyond[i] = 0;
        add_piece(parts, &p, some);
        for (int32_t i = 0; i < some; i++) {
            bins[p.bin[i]]++;
            clipped += p.beyond[i] != 0;
        }
    }
    for (int i = 0; i < 3; i++) sums[i] += total(parts[i]);
    return clipped;
}

/* The error of a row of y and of what is held for it, and the squares of both. */
WIDE static void add_row(double (*sums)[LANES], double *shift, const float *y, const float *x, const float *floor,
                         int32_t channels, const ek_steps *s)
{
    for (int32_t at = 0; at < channels; at += LANES) {
        const int32_t some = channels - at < LANES ? channels - at : LANES;
        for (int32_t i = 0; i < some; i++) {
            float low = floor == NULL ? -INFINITY : floor[at + i];
            float given = larger(x[at + i], low), off = larger(y[at + i], low) - given;
            shift[at + i] += (double)off;
            sums[0][i] += square(off);
            sums[1][i] += square(held_at(step_of(y[at + i], s), low, s) - given);
        }
    }
}

void ek_weighted_errors_f32(const float *y, const float *x, const float *floor, int64_t rows, int32_t channels,
                            const ek_steps *s, double *sums, double *shift)
{
    double parts[2][LANES] = { { 0 } };
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = row * channels;
        add_row(parts, shift, y + at, x + at, floor == NULL ? NULL : floor + at, channels, s);
    }
    for (int i = 0; i < 2; i++) sums[i] += total(parts[i]);
}
