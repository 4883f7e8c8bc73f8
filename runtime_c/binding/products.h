/* Sums of products of float64, each in one order. */
#ifndef EDGEKIT_BINDING_PRODUCTS_H
#define EDGEKIT_BINDING_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

static inline int32_t ek_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* A matrix whose rows and whose columns are so many elements apart. */
typedef struct {
    const double *first;
    ptrdiff_t row, column;
} ek_view;

/* out [n, width], rows `pitch` apart, += sign * factors [n, depth] m [depth, width]: each element takes one product
   after the other, first to last. `sign` is 1 or -1; `out` shares no element with the others. */
void ek_add_products(double *out, ptrdiff_t pitch, int32_t n, int32_t width, ek_view factors, double sign, ek_view m,
                     int32_t depth);

/* out [width] += factor row [width]. */
void ek_add_row(double *restrict out, double factor, const double *restrict row, int32_t width);

#endif
