#include "fixed_point.h"
#include "kernels_ref/reference.h"

enum { VECMAT_LANES = 16 }; /* columns side by side, whose sums a compiler may make vectors of */

static void vecmat_s8_store(int8_t *out, const int32_t *sums, size_t count, const ek_vecmat_s8 *m)
{
    for (size_t j = 0; j < count; j++)
        out[j] = ek_requantize(sums[j], m->multiplier, m->shift, m->zero_point, m->qmin, m->qmax);
}

static void vecmat_s8_rows_of_b(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    const int8_t *b = m->b;
    for (size_t j = 0; j < m->n; j++, b += m->k) {
        int32_t sum = m->offset;
        for (size_t i = 0; i < m->k; i++) sum += a[i] * b[i];
        vecmat_s8_store(out + j, &sum, 1, m);
    }
}

static void vecmat_s8_columns_of_b(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    size_t first = 0;
    for (; first + VECMAT_LANES <= m->n; first += VECMAT_LANES) {
        int32_t sums[VECMAT_LANES];
        const int8_t *b = m->b + first;
        for (size_t j = 0; j < VECMAT_LANES; j++) sums[j] = m->offset;
        for (size_t i = 0; i < m->k; i++, b += m->n)
            for (size_t j = 0; j < VECMAT_LANES; j++) sums[j] += a[i] * b[j];
        vecmat_s8_store(out + first, sums, VECMAT_LANES, m);
    }
    for (; first < m->n; first++) {
        int32_t sum = m->offset;
        for (size_t i = 0; i < m->k; i++) sum += a[i] * m->b[i * m->n + first];
        vecmat_s8_store(out + first, &sum, 1, m);
    }
}

void ek_vecmat_s8_ref(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    if (m->turned)
        vecmat_s8_rows_of_b(out, a, m);
    else
        vecmat_s8_columns_of_b(out, a, m);
}
