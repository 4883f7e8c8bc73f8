/* Triangular systems of REAL, which a source defines before it includes this, with OF for names: see toolkit.h. */
#ifndef EDGEKIT_BINDING_TRIANGULAR_REAL_H
#define EDGEKIT_BINDING_TRIANGULAR_REAL_H

#include "products.h"
#include "toolkit.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Columns that are solved one after the other: of each row, and, in so many such steps, before others are reduced. */
enum { STEP = 8, BLOCK = 64 };

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The same as ek_add_row, of less than STEP elements. */
static inline void add_few(REAL *restrict out, REAL factor, const REAL *restrict row, int32_t width)
{
    for (int32_t j = 0; j < width; j++) out[j] += factor * row[j];
}

static OF(ek_view) rows_of(const REAL *first, int32_t pitch)
{
    OF(ek_view) found = { first, pitch, 1 };
    return found;
}

/* Rows [start, end) of h become those of r, reduced by each other. */
static void factor_rows(REAL *h, int32_t k, int32_t start, int32_t end)
{
    for (int32_t j = start; j < end; j++) {
        REAL *row = h + (size_t)j * k, root = (REAL)sqrt(row[j]);
        memset(row, 0, (size_t)j * sizeof *row);
        for (int32_t i = j; i < k; i++) row[i] /= root;
        for (int32_t i = j + 1; i < end; i++) OF(ek_add_row)(h + (size_t)i * k + i, -row[i], row + i, k - i);
    }
}

/* Rows [from, end) of h reduced by its rows [start, from), which are those of r already; with what is below the
   diagonal, which becomes 0 in the end. */
static void reduce(REAL *h, int32_t k, int32_t start, int32_t from, int32_t end)
{
    const REAL *done = h + (size_t)start * k;
    for (int32_t i = from; i < end; i += BLOCK) {
        OF(ek_view) factors = { done + i, 1, k };
        OF(ek_add_products)(h + (size_t)i * k + i, k, ek_least(BLOCK, end - i), k - i, factors, -1,
                            rows_of(done + i, k), from - start);
    }
}

static void cholesky(REAL *h, int32_t k)
{
    for (int32_t start = 0; start < k; start += BLOCK) {
        int32_t end = ek_least(start + BLOCK, k);
        for (int32_t at = start; at < end; at += STEP) {
            int32_t next = ek_least(at + STEP, end);
            factor_rows(h, k, at, next);
            reduce(h, k, at, next, end);
        }
        reduce(h, k, start, end, k);
    }
}

/* Whether all roots on the diagonal of r are positive: those of negative numbers are not. */
static int32_t is_factor(const REAL *r, int32_t k)
{
    int32_t positive = 1;
    for (int32_t i = 0; i < k; i++) positive &= r[(size_t)i * k + i] > 0;
    return positive;
}

int32_t OF(ek_cholesky)(REAL *h, int32_t groups, int32_t k)
{
    int32_t found = 1;
    for (int32_t g = 0; g < groups; g++) {
        REAL *one = h + (size_t)g * k * k;
        cholesky(one, k);
        found &= is_factor(one, k);
    }
    return found;
}

/* Columns [from, to) of y reduced by its columns [start, end), which are divided. */
static void reduce_behind(REAL *y, const REAL *r, int32_t n, int32_t k, int32_t start, int32_t end, int32_t to)
{
    OF(ek_add_products)(y + end, k, n, to - end, rows_of(y + start, k), -1, rows_of(r + (size_t)start * k + end, k),
                        end - start);
}

static void divide(REAL *y, const REAL *r, int32_t n, int32_t k)
{
    for (int32_t start = 0; start < k; start += BLOCK) {
        int32_t end = ek_least(start + BLOCK, k);
        for (int32_t at = start; at < end; at += STEP) {
            int32_t next = ek_least(at + STEP, end);
            for (int32_t i = 0; i < n; i++) {
                REAL *row = y + (size_t)i * k;
                for (int32_t j = at; j < next; j++) {
                    row[j] /= r[(size_t)j * k + j];
                    add_few(row + j + 1, -row[j], r + (size_t)j * k + j + 1, next - j - 1);
                }
            }
            reduce_behind(y, r, n, k, at, next, end);
        }
        reduce_behind(y, r, n, k, start, end, k);
    }
}

void OF(ek_divide)(REAL *y, const REAL *r, int32_t groups, int32_t n, int32_t k)
{
    for (int32_t g = 0; g < groups; g++) divide(y + (size_t)g * n * k, r + (size_t)g * k * k, n, k);
}

/* t [BLOCK, BLOCK]: the columns [start, end) of these rows of r, as rows. */
static void transpose(const REAL *r, int32_t k, int32_t start, int32_t end, REAL *t)
{
    for (int32_t i = start; i < end; i++)
        for (int32_t j = i; j < end; j++) t[(j - start) * BLOCK + i - start] = r[(size_t)i * k + j];
}

/* Replaces the columns [start, end) of y, the last first, each of which reduces those before; t are the columns of r
   there, as rows BLOCK apart. */
typedef void (*solver)(const void *context, int32_t start, int32_t end, REAL *y, const REAL *t);

static void solve_backwards(REAL *y, const REAL *r, int32_t n, int32_t k, solver solve, const void *context)
{
    REAL t[BLOCK * BLOCK];
    for (int32_t end = k; end > 0; end -= BLOCK) {
        int32_t start = most(end - BLOCK, 0);
        transpose(r, k, start, end, t);
        for (int32_t next = end; next > start; next -= STEP) {
            int32_t at = most(next - STEP, start);
            solve(context, at, next, y, t + (at - start) * (BLOCK + 1));
            OF(ek_view) factors = { y + next - 1, k, -1 }, rows = { t + (next - 1 - start) * BLOCK, -BLOCK, 1 };
            OF(ek_add_products)(y + start, k, n, at - start, factors, -1, rows, next - at);
        }
        OF(ek_view) factors = { y + end - 1, k, -1 }, columns = { r + end - 1, -1, k };
        OF(ek_add_products)(y, k, n, start, factors, -1, columns, end - start);
    }
}

typedef struct {
    int32_t n, k;
} size;

static void divide_transposed(const void *context, int32_t start, int32_t end, REAL *y, const REAL *t)
{
    const size *of = context;
    for (int32_t i = 0; i < of->n; i++) {
        REAL *row = y + (size_t)i * of->k + start;
        for (int32_t j = end - start - 1; j >= 0; j--) {
            row[j] /= t[j * BLOCK + j];
            add_few(row, -row[j], t + j * BLOCK, j);
        }
    }
}

void OF(ek_divide_transposed)(REAL *y, const REAL *r, int32_t groups, int32_t n, int32_t k)
{
    size of = { n, k };
    for (int32_t g = 0; g < groups; g++)
        solve_backwards(y + (size_t)g * n * k, r + (size_t)g * k * k, n, k, divide_transposed, &of);
}

#endif
