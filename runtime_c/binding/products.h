/* Sums of products of reals, each in one order. */
#ifndef EDGEKIT_BINDING_PRODUCTS_H
#define EDGEKIT_BINDING_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

static inline int32_t ek_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* For each type and its suffix: a matrix whose rows and whose columns are so many elements apart, and two functions.

   ek_add_products: out [n, width], rows `pitch` apart, += sign * factors [n, depth] m [depth, width]: each element
   takes one product after the other, first to last. `sign` is 1 or -1; `out` shares no element with the others.

   ek_add_row: out [width] += factor row [width]. */
#define EK_PRODUCTS(real, suffix)                                                                                 \
    typedef struct {                                                                                              \
        const real *first;                                                                                        \
        ptrdiff_t row, column;                                                                                    \
    } ek_view_##suffix;                                                                                           \
    void ek_add_products_##suffix(real *out, ptrdiff_t pitch, int32_t n, int32_t width, ek_view_##suffix factors, \
                                  real sign, ek_view_##suffix m, int32_t depth);                                  \
    void ek_add_row_##suffix(real *restrict out, real factor, const real *restrict row, int32_t width);

EK_PRODUCTS(double, f64)
EK_PRODUCTS(float, f32)

#endif
