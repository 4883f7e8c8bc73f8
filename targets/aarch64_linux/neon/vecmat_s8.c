/* vecmat_s8: 8 columns at a time where they lie side by side, else 4 by 8 elements of a. Shared with ARMv7. */
#include "fixed_point.h"
#include "kernels.h"
#include "requant.h"

enum { COLUMNS = 4, LANES = 8 };

typedef struct scaling {
    ek_channels4 ratio;
    ek_output output;
} scaling;

EK_INLINE void store_sums(int8_t *out, int32x4_t lo, int32x4_t hi, size_t count, const scaling *s)
{
    int8_t all[LANES];
    const int8x8_t q = ek_narrow8(ek_scale4(lo, &s->ratio, true), ek_scale4(hi, &s->ratio, true), &s->output);
    if (count == LANES) {
        vst1_s8(out, q);
        return;
    }
    vst1_s8(all, q);
    memcpy(out, all, count);
}

EK_INLINE int32x4_t multiply_add(int32x4_t acc, int16x8_t a, int16x8_t b)
{
    acc = vmlal_s16(acc, vget_low_s16(a), vget_low_s16(b));
    return vmlal_s16(acc, vget_high_s16(a), vget_high_s16(b));
}

EK_INLINE int32_t add_across(int32x4_t v)
{
#ifdef __aarch64__
    return vaddvq_s32(v);
#else
    const int32x2_t two = vadd_s32(vget_low_s32(v), vget_high_s32(v));
    return vget_lane_s32(vpadd_s32(two, two), 0);
#endif
}

/* C columns, whose elements lie together. */
EK_INLINE void turned(int32_t *sums, const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m, const int C)
{
    const size_t k = m->k;
    int32x4_t acc[COLUMNS];
    size_t i = 0;
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) acc[c] = vdupq_n_s32(0);
    for (; i + LANES <= k; i += LANES) {
        const int16x8_t x = vld1q_s16(a + i);
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) acc[c] = multiply_add(acc[c], x, vmovl_s8(vld1_s8(b + (size_t)c * k + i)));
    }
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) {
        sums[c] = m->offset + add_across(acc[c]);
        for (size_t j = i; j < k; j++) sums[c] += a[j] * b[(size_t)c * k + j];
    }
}

static void vecmat_turned(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m, const scaling *s)
{
    const int8_t *b = m->b;
    for (size_t j = 0; j < m->n; j += LANES) {
        int32_t sums[LANES] = { 0 };
        const size_t count = m->n - j < LANES ? m->n - j : LANES;
        size_t c = 0;
        for (; c + COLUMNS <= count; c += COLUMNS, b += COLUMNS * (size_t)m->k) turned(sums + c, a, b, m, COLUMNS);
        for (; c < count; c++, b += m->k) turned(sums + c, a, b, m, 1);
        store_sums(out + j, vld1q_s32(sums), vld1q_s32(sums + COLUMNS), count, s);
    }
}

/* 8 columns whose elements are n apart; of the last ones, fewer, a copy is read. */
EK_INLINE void plain(int32x4_t *lo, int32x4_t *hi, const int16_t *a, const int8_t *b, size_t count,
                     const ek_vecmat_s8 *m)
{
    *lo = *hi = vdupq_n_s32(m->offset);
    for (size_t i = 0; i < m->k; i++, b += m->n) {
        int8_t part[LANES] = { 0 };
        if (count < LANES) memcpy(part, b, count);
        const int16x8_t w = vmovl_s8(vld1_s8(count < LANES ? part : b));
        *lo = vmlal_n_s16(*lo, vget_low_s16(w), a[i]);
        *hi = vmlal_n_s16(*hi, vget_high_s16(w), a[i]);
    }
}

static void vecmat_plain(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m, const scaling *s)
{
    int32x4_t lo, hi;
    size_t j = 0;
    for (; j + LANES <= m->n; j += LANES) {
        plain(&lo, &hi, a, m->b + j, LANES, m);
        store_sums(out + j, lo, hi, LANES, s);
    }
    if (j < m->n) {
        plain(&lo, &hi, a, m->b + j, m->n - j, m);
        store_sums(out + j, lo, hi, m->n - j, s);
    }
}

void ek_neon_vecmat_s8(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    const scaling s = { ek_channels_from(vdupq_n_s32(m->multiplier), vdupq_n_s32(m->shift)),
                        ek_output_from(m->zero_point, m->qmin, m->qmax) };
    if (m->turned)
        vecmat_turned(out, a, m, &s);
    else
        vecmat_plain(out, a, m, &s);
}
