#include "toolkit.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Each element sees the same operations in the same order whatever the width of vectors: products are never
   contracted, and loops go along rows, whose elements do not depend on each other. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

enum { BLOCK = 8, NEARER = 4 };

/* out [k] += factors [BLOCK] m [BLOCK, pitch], one row after the other. */
WIDE static void add_rows(double *restrict out, const double *restrict factors, const double *restrict m,
                          ptrdiff_t pitch, int32_t k)
{
    const double *m1 = m + pitch, *m2 = m1 + pitch, *m3 = m2 + pitch;
    const double *m4 = m3 + pitch, *m5 = m4 + pitch, *m6 = m5 + pitch, *m7 = m6 + pitch;
    double f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
    double f4 = factors[4], f5 = factors[5], f6 = factors[6], f7 = factors[7];
    for (int32_t j = 0; j < k; j++) {
        double sum = out[j] + f0 * m[j];
        sum += f1 * m1[j];
        sum += f2 * m2[j];
        sum += f3 * m3[j];
        sum += f4 * m4[j];
        sum += f5 * m5[j];
        sum += f6 * m6[j];
        out[j] = sum + f7 * m7[j];
    }
}

/* out [k] += factor row [k]. */
WIDE static void add_row(double *restrict out, double factor, const double *restrict row, int32_t k)
{
    for (int32_t j = 0; j < k; j++) out[j] += factor * row[j];
}

void ek_product_f64(const double *a, const double *m, int32_t n, int32_t k, int32_t l, double *out)
{
    memset(out, 0, (size_t)n * l * sizeof *out);
    for (int32_t start = 0; start < k; start += BLOCK) {
        for (int32_t i = 0; i < n; i++) {
            const double *factors = a + (size_t)i * k + start;
            double *to = out + (size_t)i * l;
            if (start + BLOCK <= k) {
                add_rows(to, factors, m + (size_t)start * l, l, l);
            } else {
                for (int32_t j = start; j < k; j++) add_row(to, factors[j - start], m + (size_t)j * l, l);
            }
        }
    }
}

/* Rows from `start` on of h, whose rows before `start` are those of r already, reduced by rows [from, start). */
static void reduce(double *h, int32_t k, int32_t from, int32_t start, int32_t end)
{
    double factors[BLOCK];
    for (int32_t i = start; i < end; i++) {
        double *row = h + (size_t)i * k;
        for (int32_t p = from; p < start; p++) factors[p - from] = -h[(size_t)p * k + i];
        if (start - from == BLOCK) {
            add_rows(row + i, factors, h + (size_t)from * k + i, k, k - i);
        } else {
            for (int32_t p = from; p < start; p++) add_row(row + i, factors[p - from], h + (size_t)p * k + i, k - i);
        }
    }
}

void ek_cholesky_f64(double *h, int32_t k)
{
    for (int32_t start = 0; start < k; start += BLOCK) {
        int32_t end = start + BLOCK < k ? start + BLOCK : k;
        for (int32_t j = start; j < end; j++) {
            double *row = h + (size_t)j * k, root = sqrt(row[j]);
            memset(row, 0, (size_t)j * sizeof *row);
            for (int32_t i = j; i < k; i++) row[i] /= root;
            for (int32_t i = j + 1; i < end; i++) add_row(h + (size_t)i * k + i, -row[i], row + i, k - i);
        }
        reduce(h, k, start, end, k);
    }
}

void ek_divide_f64(double *y, const double *r, int32_t n, int32_t k)
{
    for (int32_t start = 0; start < k; start += BLOCK) {
        int32_t end = start + BLOCK < k ? start + BLOCK : k;
        for (int32_t i = 0; i < n; i++) {
            double *row = y + (size_t)i * k, factors[BLOCK];
            for (int32_t j = start; j < end; j++) {
                row[j] /= r[(size_t)j * k + j];
                factors[j - start] = -row[j];
                add_row(row + j + 1, -row[j], r + (size_t)j * k + j + 1, end - j - 1);
            }
            if (end < k) add_rows(row + end, factors, r + (size_t)start * k + end, k, k - end);
        }
    }
}

/* y [k], behind `end` done, has to be reduced by the rows [start, end) of t, last first, which factors [BLOCK] are of.
 */
static void reduce_before(double *y, const double *factors, const double *t, int32_t start, int32_t end, int32_t k)
{
    if (end - start == BLOCK) {
        add_rows(y, factors, t + (size_t)(end - 1) * k, -(ptrdiff_t)k, start);
    } else {
        for (int32_t j = end - 1; j >= start; j--) add_row(y, factors[end - 1 - j], t + (size_t)j * k, start);
    }
}

void ek_divide_transposed_f64(double *y, const double *t, int32_t n, int32_t k)
{
    for (int32_t end = k; end > 0; end -= BLOCK) {
        int32_t start = end > BLOCK ? end - BLOCK : 0;
        for (int32_t i = 0; i < n; i++) {
            double *row = y + (size_t)i * k, factors[BLOCK];
            for (int32_t j = end - 1; j >= start; j--) {
                row[j] /= t[(size_t)j * k + j];
                factors[end - 1 - j] = -row[j];
                add_row(row + start, -row[j], t + (size_t)j * k + start, j - start);
            }
            reduce_before(row, factors, t, start, end, k);
        }
    }
}

static double rounded(double v, double limit)
{
    v = rint(v);
    return v < -limit ? -limit : v > limit ? limit : v;
}

/* The integer near v that makes curve (z - v)^2 + price[z] least: of those around v, and of those nearer 0. */
static double cheapest(double v, double limit, double curve, const double *price)
{
    double nearest = rounded(v, limit), best = nearest, least = INFINITY;
    if (!price) return nearest;
    for (int32_t i = -1; i <= NEARER; i++) {
        double z = i == NEARER ? 0 : rounded(nearest - copysign(i, nearest), limit);
        double cost = curve * (z - v) * (z - v) + price[(int32_t)z];
        if (cost < least) {
            least = cost;
            best = z;
        }
    }
    return best;
}

void ek_nearest_plane_f64(double *y, const double *t, const double *steps, int32_t n, int32_t k, double limit,
                          const double *price, double *z)
{
    for (int32_t end = k; end > 0; end -= BLOCK) {
        int32_t start = end > BLOCK ? end - BLOCK : 0;
        for (int32_t i = 0; i < n; i++) {
            size_t at = (size_t)i * k;
            double *row = y + at, factors[BLOCK];
            for (int32_t j = end - 1; j >= start; j--) {
                double step = steps[at + j], plane = t[(size_t)j * k + j] * step;
                double whole = cheapest(row[j] / plane, limit, plane * plane, price);
                z[at + j] = whole;
                factors[end - 1 - j] = -(whole * step);
                add_row(row + start, factors[end - 1 - j], t + (size_t)j * k + start, j - start);
            }
            reduce_before(row, factors, t, start, end, k);
        }
    }
}

void ek_descend_f64(double *z, double *gradient, const double *h, const double *steps, int32_t n, int32_t k,
                    double limit, const double *price, int32_t sweeps)
{
    for (int32_t i = 0; i < n; i++) {
        double *row = gradient + (size_t)i * k, *whole = z + (size_t)i * k;
        const double *step = steps + (size_t)i * k;
        int moved = 1;
        for (int32_t sweep = 0; moved && sweep < sweeps; sweep++) {
            moved = 0;
            for (int32_t j = 0; j < k; j++) {
                double curve = h[(size_t)j * k + j] * step[j];
                double best = cheapest(whole[j] - row[j] / curve, limit, curve * step[j], price);
                double move = best - whole[j];
                if (move != 0) {
                    moved = 1;
                    whole[j] += move;
                    add_row(row, move * step[j], h + (size_t)j * k, k);
                }
            }
        }
    }
}
