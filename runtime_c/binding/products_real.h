/* Sums of products of REAL, which a source defines before it includes this, with OF for names: see products.h. */
#ifndef EDGEKIT_BINDING_PRODUCTS_REAL_H
#define EDGEKIT_BINDING_PRODUCTS_REAL_H

#include "products.h"
#include "toolkit.h"
#include "wide.h"

#include <string.h>

/* Each element sees the same operations in the same order whatever the width of vectors: products are never
   contracted, and vectors hold elements that do not depend on each other. */

/* Elements of a vector; of a tile of sums, which stay in registers (three vectors of each row in twelve, beside those
   of a row of factors and of a product); how many products are added to each; of how many rows the factors, and of how
   many columns the others stay in the cache; how many products are added at a time without tiles. */
enum {
    LANES = 32 / sizeof(REAL),
    ROWS = 4,
    ACROSS = 3,
    COLUMNS = ACROSS * LANES,
    DEPTH = 64,
    MANY = 64,
    BROAD = 240,
    FEW = 8
};

/* Compilers do not keep sums of loops over arrays in registers. */
typedef REAL lanes __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

/* sums [ROWS, COLUMNS], rows `pitch` apart, += f' [depth, ROWS] m [depth, COLUMNS]. */
WIDE static void add_tile(REAL *sums, ptrdiff_t pitch, const REAL *f, const REAL *m, int32_t depth)
{
    lanes s[ROWS][ACROSS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ACROSS; j++) s[i][j] = *(const lanes *)(sums + i * pitch + j * LANES);
    for (int32_t p = 0; p < depth; p++, f += ROWS, m += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ACROSS; j++) s[i][j] += f[i] * *(const lanes *)(m + j * LANES);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ACROSS; j++) *(lanes *)(sums + i * pitch + j * LANES) = s[i][j];
}

/* The same of a tile of which only [n, width] is there. */
static void add_part(REAL *out, ptrdiff_t pitch, int32_t n, int32_t width, const REAL *f, const REAL *m, int32_t depth)
{
    REAL sums[ROWS * COLUMNS] = { 0 };
    for (int32_t i = 0; i < n; i++) memcpy(sums + i * COLUMNS, out + i * pitch, (size_t)width * sizeof *sums);
    add_tile(sums, COLUMNS, f, m, depth);
    for (int32_t i = 0; i < n; i++) memcpy(out + i * pitch, sums + i * COLUMNS, (size_t)width * sizeof *sums);
}

/* packed [n / ROWS, depth, ROWS] = sign * factors [n, depth], 0 behind. */
static void pack_factors(OF(ek_view) factors, REAL sign, int32_t n, int32_t depth, REAL *packed)
{
    for (int32_t i = 0; i < n; i += ROWS, packed += depth * ROWS) {
        const REAL *from = factors.first + i * factors.row;
        int32_t rows = ek_least(ROWS, n - i);
        for (int32_t p = 0; p < depth; p++, from += factors.column)
            for (int32_t r = 0; r < ROWS; r++) packed[p * ROWS + r] = r < rows ? sign * from[r * factors.row] : 0.0;
    }
}

/* packed [width / COLUMNS, depth, COLUMNS] = m [depth, width], 0 behind; in the order in which m lies in memory. */
static void pack_columns(OF(ek_view) m, int32_t width, int32_t depth, REAL *packed)
{
    if (m.column == 1) {
        for (int32_t p = 0; p < depth; p++, packed += COLUMNS) {
            const REAL *from = m.first + p * m.row;
            REAL *to = packed;
            int32_t j = 0;
            for (; j + COLUMNS <= width; j += COLUMNS, to += depth * COLUMNS)
                memcpy(to, from + j, COLUMNS * sizeof *to);
            for (int32_t i = 0; j < width && i < COLUMNS; i++) to[i] = j + i < width ? from[j + i] : 0.0;
        }
    } else {
        for (int32_t j = 0; j < width; j += COLUMNS, packed += depth * COLUMNS) {
            for (int32_t i = 0; i < COLUMNS; i++) {
                const REAL *from = m.first + (j + i) * m.column;
                for (int32_t p = 0; p < depth; p++) packed[p * COLUMNS + i] = j + i < width ? from[p * m.row] : 0.0;
            }
        }
    }
}

/* out [n, width], rows `pitch` apart, += f' x: what was packed. */
static void add_panel(REAL *out, ptrdiff_t pitch, int32_t n, int32_t width, const REAL *f, const REAL *x, int32_t depth)
{
    for (int32_t j = 0; j < width; j += COLUMNS, x += depth * COLUMNS) {
        int32_t columns = ek_least(COLUMNS, width - j);
        for (int32_t i = 0; i < n; i += ROWS) {
            REAL *sums = out + i * pitch + j;
            if (n - i >= ROWS && columns == COLUMNS)
                add_tile(sums, pitch, f + (size_t)i * depth, x, depth);
            else
                add_part(sums, pitch, ek_least(ROWS, n - i), columns, f + (size_t)i * depth, x, depth);
        }
    }
}

WIDE void OF(ek_add_row)(REAL *restrict out, REAL factor, const REAL *restrict row, int32_t width)
{
    for (int32_t j = 0; j < width; j++) out[j] += factor * row[j];
}

/* out [width] += sign * factors [FEW], `step` apart, m [FEW, width], rows `pitch` apart. */
WIDE static void add_rows(REAL *restrict out, const REAL *restrict factors, ptrdiff_t step, REAL sign,
                          const REAL *restrict m, ptrdiff_t pitch, int32_t width)
{
    const REAL *m1 = m + pitch, *m2 = m1 + pitch, *m3 = m2 + pitch;
    const REAL *m4 = m3 + pitch, *m5 = m4 + pitch, *m6 = m5 + pitch, *m7 = m6 + pitch;
    REAL f[FEW];
    for (int j = 0; j < FEW; j++) f[j] = sign * factors[j * step];
    for (int32_t j = 0; j < width; j++) {
        REAL sum = out[j] + f[0] * m[j];
        sum += f[1] * m1[j];
        sum += f[2] * m2[j];
        sum += f[3] * m3[j];
        sum += f[4] * m4[j];
        sum += f[5] * m5[j];
        sum += f[6] * m6[j];
        out[j] = sum + f[7] * m7[j];
    }
}

/* As ek_add_products, where packing would take longer than adding; of rows that lie together. */
static void add_unpacked(REAL *out, ptrdiff_t pitch, int32_t n, int32_t width, OF(ek_view) factors, REAL sign,
                         OF(ek_view) m, int32_t depth)
{
    for (int32_t i = 0; i < n; i++, out += pitch, factors.first += factors.row) {
        const REAL *from = factors.first, *row = m.first;
        for (int32_t p = 0; p + FEW <= depth; p += FEW, from += FEW * factors.column, row += FEW * m.row)
            add_rows(out, from, factors.column, sign, row, m.row, width);
        for (int32_t p = 0; p < depth % FEW; p++, row += m.row)
            OF(ek_add_row)(out, sign * from[p * factors.column], row, width);
    }
}

/* As ek_add_products. */
static void add_packed(REAL *out, ptrdiff_t pitch, int32_t n, int32_t width, OF(ek_view) factors, REAL sign,
                       OF(ek_view) m, int32_t depth)
{
    REAL f[MANY * DEPTH], x[DEPTH * BROAD];
    for (int32_t p = 0; p < depth; p += DEPTH) {
        int32_t deep = ek_least(DEPTH, depth - p);
        for (int32_t j = 0; j < width; j += BROAD) {
            int32_t broad = ek_least(BROAD, width - j);
            OF(ek_view) those = { m.first + p * m.row + j * m.column, m.row, m.column };
            pack_columns(those, broad, deep, x);
            for (int32_t i = 0; i < n; i += MANY) {
                int32_t many = ek_least(MANY, n - i);
                OF(ek_view)
                some = { factors.first + i * factors.row + p * factors.column, factors.row, factors.column };
                pack_factors(some, sign, many, deep, f);
                add_panel(out + i * pitch + j, pitch, many, broad, f, x, deep);
            }
        }
    }
}

void OF(ek_add_products)(REAL *out, ptrdiff_t pitch, int32_t n, int32_t width, OF(ek_view) factors, REAL sign,
                         OF(ek_view) m, int32_t depth)
{
    if (m.column == 1 && (n < ROWS || width < COLUMNS || depth <= FEW))
        add_unpacked(out, pitch, n, width, factors, sign, m, depth);
    else
        add_packed(out, pitch, n, width, factors, sign, m, depth);
}

void OF(ek_product)(const REAL *a, const REAL *m, int32_t groups, int32_t n, int32_t k, int32_t l, REAL *out)
{
    memset(out, 0, (size_t)groups * n * l * sizeof *out);
    for (int32_t g = 0; g < groups; g++) {
        OF(ek_view) factors = { a + (size_t)g * n * k, k, 1 }, rows = { m + (size_t)g * k * l, l, 1 };
        OF(ek_add_products)(out + (size_t)g * n * l, l, n, l, factors, 1, rows, k);
    }
}

/* to [depth, BROAD] = unit m - less [depth, width] of rows `pitch` apart. */
WIDE static void read_wholes(const int32_t *restrict m, const int32_t *restrict less, double unit, int32_t pitch,
                             int32_t width, int32_t depth, REAL *restrict to)
{
    for (int32_t p = 0; p < depth; p++, m += pitch, to += BROAD) {
        if (less) {
            for (int32_t j = 0; j < width; j++) to[j] = (REAL)(unit * m[j] - less[j]);
            less += pitch;
        } else {
            for (int32_t j = 0; j < width; j++) to[j] = (REAL)(unit * m[j]);
        }
    }
}

void OF(ek_product_of_s32)(const REAL *a, const int32_t *m, const int32_t *less, double unit, int32_t groups, int32_t n,
                           int32_t k, int32_t l, REAL *out)
{
    REAL some[DEPTH * BROAD];
    memset(out, 0, (size_t)groups * n * l * sizeof *out);
    for (int32_t g = 0; g < groups; g++, a += (size_t)n * k, out += (size_t)n * l) {
        for (int32_t p = 0; p < k; p += DEPTH) {
            for (int32_t j = 0; j < l; j += BROAD) {
                size_t at = ((size_t)g * k + p) * l + j;
                int32_t depth = ek_least(DEPTH, k - p), width = ek_least(BROAD, l - j);
                read_wholes(m + at, less ? less + at : NULL, unit, l, width, depth, some);
                OF(ek_view) factors = { a + p, k, 1 }, rows = { some, BROAD, 1 };
                OF(ek_add_products)(out + j, l, n, width, factors, 1, rows, depth);
            }
        }
    }
}

#endif
