#include "fixed_point.h"
#include "kernels_ref/reference.h"

/* A product is at most 2^30: halves of it, summed apart, need no sum of 64 bits. */
static inline int64_t mat_mul_s16_dot(const int16_t *a, const int16_t *b, size_t k)
{
    int32_t high = 0;
    uint32_t low = 0;
    for (size_t i = 0; i < k; i++) {
        const int32_t product = a[i] * b[i];
        high += product >> 16;
        low += (uint32_t)product & 0xffff;
    }
    return (int64_t)high * 65536 + low;
}

void ek_mat_mul_s16_ref(int16_t *out, const int16_t *a, size_t rows, const ek_mat_mul_s16 *m)
{
    for (; rows; rows--, a += m->k)
        for (size_t j = 0; j < m->n; j++)
            *out++ =
                ek_requantize16(mat_mul_s16_dot(a, m->b + j * m->k, m->k), m->multiplier, m->shift, m->qmin, m->qmax);
}
