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

/* Columns at a time: BLOCK rows of so many stay in the cache. */
enum { PANEL = 256 };

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

static void add_product(const double *a, const double *m, int32_t n, int32_t k, int32_t l, double *out)
{
    for (int32_t panel = 0; panel < l; panel += PANEL) {
        int32_t width = l - panel < PANEL ? l - panel : PANEL;
        for (int32_t start = 0; start < k; start += BLOCK) {
            const double *rows = m + (size_t)start * l + panel;
            for (int32_t i = 0; i < n; i++) {
                const double *factors = a + (size_t)i * k + start;
                double *to = out + (size_t)i * l + panel;
                if (start + BLOCK <= k) {
                    add_rows(to, factors, rows, l, width);
                } else {
                    for (int32_t j = 0; j < k - start; j++) add_row(to, factors[j], rows + (size_t)j * l, width);
                }
            }
        }
    }
}

void ek_product_f64(const double *a, const double *m, int32_t groups, int32_t n, int32_t k, int32_t l, double *out)
{
    memset(out, 0, (size_t)groups * n * l * sizeof *out);
    for (int32_t g = 0; g < groups; g++)
        add_product(a + (size_t)g * n * k, m + (size_t)g * k * l, n, k, l, out + (size_t)g * n * l);
}

/* Rows from `end` on of h reduced by its rows [start, end), which are those of r already. What is below the diagonal
   is written too, and 0 in the end. */
static void reduce(double *h, int32_t k, int32_t start, int32_t end)
{
    for (int32_t panel = end; panel < k; panel += PANEL) {
        int32_t behind = panel + PANEL < k ? panel + PANEL : k;
        for (int32_t i = end; i < behind; i++) {
            int32_t from = i > panel ? i : panel;
            double factors[BLOCK], *row = h + (size_t)i * k + from;
            for (int32_t p = start; p < end; p++) factors[p - start] = -h[(size_t)p * k + i];
            add_rows(row, factors, h + (size_t)start * k + from, k, behind - from);
        }
    }
}

static void cholesky(double *h, int32_t k)
{
    for (int32_t start = 0; start < k; start += BLOCK) {
        int32_t end = start + BLOCK < k ? start + BLOCK : k;
        for (int32_t j = start; j < end; j++) {
            double *row = h + (size_t)j * k, root = sqrt(row[j]);
            memset(row, 0, (size_t)j * sizeof *row);
            for (int32_t i = j; i < k; i++) row[i] /= root;
            for (int32_t i = j + 1; i < end; i++) add_row(h + (size_t)i * k + i, -row[i], row + i, k - i);
        }
        reduce(h, k, start, end);
    }
}

void ek_cholesky_f64(double *h, int32_t groups, int32_t k)
{
    for (int32_t g = 0; g < groups; g++) cholesky(h + (size_t)g * k * k, k);
}

static void divide(double *y, const double *r, int32_t n, int32_t k)
{
    for (int32_t start = 0; start < k; start += BLOCK) {
        int32_t end = start + BLOCK < k ? start + BLOCK : k;
        for (int32_t i = 0; i < n; i++) {
            double *row = y + (size_t)i * k;
            for (int32_t j = start; j < end; j++) {
                row[j] /= r[(size_t)j * k + j];
                add_row(row + j + 1, -row[j], r + (size_t)j * k + j + 1, end - j - 1);
            }
        }
        for (int32_t panel = end; panel < k; panel += PANEL) {
            int32_t width = k - panel < PANEL ? k - panel : PANEL;
            for (int32_t i = 0; i < n; i++) {
                double factors[BLOCK], *row = y + (size_t)i * k;
                for (int32_t j = 0; j < BLOCK; j++) factors[j] = -row[start + j];
                add_rows(row + panel, factors, r + (size_t)start * k + panel, k, width);
            }
        }
    }
}

void ek_divide_f64(double *y, const double *r, int32_t groups, int32_t n, int32_t k)
{
    for (int32_t g = 0; g < groups; g++) divide(y + (size_t)g * n * k, r + (size_t)g * k * k, n, k);
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

static void divide_transposed(double *y, const double *t, int32_t n, int32_t k)
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

void ek_divide_transposed_f64(double *y, const double *t, int32_t groups, int32_t n, int32_t k)
{
    for (int32_t g = 0; g < groups; g++) divide_transposed(y + (size_t)g * n * k, t + (size_t)g * k * k, n, k);
}

void ek_transposed_f64(const double *m, int32_t groups, int32_t k, double *out)
{
    size_t size = (size_t)k * k;
    for (int32_t g = 0; g < groups; g++, m += size, out += size) {
        for (int32_t panel = 0; panel < k; panel += BLOCK) {
            int32_t behind = panel + BLOCK < k ? panel + BLOCK : k;
            for (int32_t i = 0; i < k; i++)
                for (int32_t j = panel; j < behind; j++) out[(size_t)j * k + i] = m[(size_t)i * k + j];
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
