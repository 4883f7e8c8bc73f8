/* What one source of the binding needs to run on vectors of any width. */
#ifndef EDGEKIT_BINDING_WIDE_H
#define EDGEKIT_BINDING_WIDE_H

/* A function compiled for several widths of vectors; the loader picks the widest of the CPU. Its results must be the
   same for all: elements are computed alone, or sums come in one order; products are never contracted. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* The nearest whole number of one of less than 2^51, half to even, without a call. */
static inline double ek_nearest(double v)
{
    const double whole_from_here = 6755399441055744.0;
    return v + whole_from_here - whole_from_here;
}

#endif
