/* vecmat_s8: 4 columns at a time, two products an instruction. */
#include <string.h>

#include "fixed_point.h"
#include "halves.h"
#include "kernels.h"

enum { COLUMNS = 4 };

static inline uint32_t word(const void *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

static inline int8_t vecmat_result(int32_t sum, const ek_vecmat_s8 *m)
{
    return ek_requantize(sum, m->multiplier, m->shift, m->zero_point, m->qmin, m->qmax);
}

static void store(int8_t *out, const int32_t *sums, const ek_vecmat_s8 *m)
{
    for (size_t c = 0; c < COLUMNS; c++) out[c] = vecmat_result(sums[c], m);
}

/* One column, whose elements are `step` apart. */
static int32_t column(int32_t sum, const int16_t *a, const int8_t *b, size_t step, size_t k)
{
    for (; k; k--, b += step) sum += *a++ * *b;
    return sum;
}

static inline int32_t turned_products(int32_t sum, const int8_t *b, uint32_t even, uint32_t odd)
{
    const uint32_t four = word(b);
    return ek_dsp_products(odd, ek_dsp_odd(four), ek_dsp_products(even, ek_dsp_even(four), sum));
}

/* 4 elements of a at a time, by those of 4 columns that lie in rows of k bytes. */
static void turned(int8_t *out, const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m)
{
    const size_t k = m->k, rest = k % 4;
    int32_t s0 = m->offset, s1 = s0, s2 = s0, s3 = s0;
    for (const int8_t *end = b + k - rest; b != end; b += 4, a += 4) {
        const uint32_t first = word(a), second = word(a + 2);
        const uint32_t even = ek_dsp_lower(first, second), odd = ek_dsp_higher(first, second);
        const int8_t *w = b;
        s0 = turned_products(s0, w, even, odd);
        s1 = turned_products(s1, w += k, even, odd);
        s2 = turned_products(s2, w += k, even, odd);
        s3 = turned_products(s3, w += k, even, odd);
    }
    const int32_t sums[COLUMNS] = { column(s0, a, b, 1, rest), column(s1, a, b + k, 1, rest),
                                    column(s2, a, b + 2 * k, 1, rest), column(s3, a, b + 3 * k, 1, rest) };
    store(out, sums, m);
}

/* Two elements of a at a time, by words of 4 columns. */
static void plain(int8_t *out, const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m)
{
    const size_t n = m->n, rest = m->k % 2;
    int32_t s0 = m->offset, s1 = s0, s2 = s0, s3 = s0;
    for (const int16_t *end = a + m->k - rest; a != end; a += 2, b += 2 * n) {
        const uint32_t two = word(a), above = word(b), below = word(b + n);
        const uint32_t even = ek_dsp_even(above), even_below = ek_dsp_even(below);
        const uint32_t odd = ek_dsp_odd(above), odd_below = ek_dsp_odd(below);
        s0 = ek_dsp_products(two, ek_dsp_lower(even, even_below), s0);
        s1 = ek_dsp_products(two, ek_dsp_lower(odd, odd_below), s1);
        s2 = ek_dsp_products(two, ek_dsp_higher(even, even_below), s2);
        s3 = ek_dsp_products(two, ek_dsp_higher(odd, odd_below), s3);
    }
    const int32_t sums[COLUMNS] = { column(s0, a, b, n, rest), column(s1, a, b + 1, n, rest),
                                    column(s2, a, b + 2, n, rest), column(s3, a, b + 3, n, rest) };
    store(out, sums, m);
}

void ek_dsp_vecmat_s8(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    const size_t next = m->turned ? m->k : 1, along = m->turned ? 1 : m->n, n = m->n;
    const int8_t *b = m->b;
    size_t j = 0;
    for (; j + COLUMNS <= n; j += COLUMNS, b += COLUMNS * next) (m->turned ? turned : plain)(out + j, a, b, m);
    for (; j < n; j++, b += next) out[j] = vecmat_result(column(m->offset, a, b, along, m->k), m);
}
