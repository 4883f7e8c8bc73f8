/* gemm_s16 and mat_mul_s16: sums along k in 4 lanes. Weights are as in the file. */
#include "kernels.h"
#include "requant16.h"
#include "stream.h"

enum { COLUMNS = 4, CHUNK = 1984 }; /* of so many products, a lane's sum of every fourth fits int32 */

/* 4 columns, the last one again where there are fewer. */
typedef struct columns {
    const int8_t *w[COLUMNS];
    int64x2_t bias[2];
    ek_ratios4 ratios;
    int16x4_t qmin, qmax;
    uint32_t k, count;
} columns;

static columns columns_at(const ek_gemm_s16 *g, uint32_t first)
{
    const ek_requant16 *q = &g->requant;
    int32_t bias[COLUMNS], m[COLUMNS], shift[COLUMNS];
    columns c = { .qmin = vdup_n_s16((int16_t)q->qmin), .qmax = vdup_n_s16((int16_t)q->qmax), .k = g->k };
    c.count = g->n - first < COLUMNS ? g->n - first : COLUMNS;
    for (uint32_t i = 0; i < COLUMNS; i++) {
        const uint32_t j = first + (i < c.count ? i : c.count - 1);
        c.w[i] = (const int8_t *)g->weights + (size_t)j * g->k;
        bias[i] = q->bias[j];
        m[i] = q->multiplier[j];
        shift[i] = q->shift[j];
    }
    c.bias[0] = vmovl_s32(vld1_s32(bias));
    c.bias[1] = vmovl_s32(vld1_s32(bias + 2));
    c.ratios = ek_ratios_from(vld1q_s32(m), vld1q_s32(shift));
    return c;
}

EK_INLINE int32x4_t multiply_add(int32x4_t acc, int16x8_t a, int16x8_t b)
{
    acc = vmlal_s16(acc, vget_low_s16(a), vget_low_s16(b));
#ifdef __aarch64__
    return vmlal_high_s16(acc, a, b);
#else
    return vmlal_s16(acc, vget_high_s16(a), vget_high_s16(b));
#endif
}

/* The first `count` < 8 of p, then zeros. */
static int16x8_t load_part(const int16_t *p, size_t count)
{
    int16_t v[8] = { 0 };
    memcpy(v, p, count * sizeof *v);
    return vld1q_s16(v);
}

/* The sum of each of two vectors. */
EK_INLINE int64x2_t across(int64x2_t a, int64x2_t b)
{
#ifdef __aarch64__
    return vpaddq_s64(a, b);
#else
    return vcombine_s64(vadd_s64(vget_low_s64(a), vget_high_s64(a)), vadd_s64(vget_low_s64(b), vget_high_s64(b)));
#endif
}

EK_INLINE void fold(int64x2_t total[2], const int32x4_t acc[COLUMNS])
{
    total[0] = vaddq_s64(total[0], across(vpaddlq_s32(acc[0]), vpaddlq_s32(acc[1])));
    total[1] = vaddq_s64(total[1], across(vpaddlq_s32(acc[2]), vpaddlq_s32(acc[3])));
}

EK_INLINE void store_part(int16_t *out, int16x4_t q, uint32_t count)
{
    if (count == COLUMNS) {
        vst1_s16(out, q);
        return;
    }
    int16_t v[COLUMNS];
    vst1_s16(v, q);
    memcpy(out, v, count * sizeof *v);
}

EK_INLINE void add_eight(int32x4_t acc[4][COLUMNS], const int16x8_t x[4], const int16x8_t v[COLUMNS], const int R)
{
#pragma GCC unroll 4
    for (int i = 0; i < COLUMNS; i++)
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) acc[r][i] = multiply_add(acc[r][i], x[r], v[i]);
}

/* R rows by 4 columns. */
EK_INLINE void block(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, const columns *c, const int R)
{
    int64x2_t total[4][2];
    int32x4_t acc[4][COLUMNS];
    int16x8_t x[4], v[COLUMNS];
    const int16_t *row[4];
    const int8_t *w[COLUMNS];
#pragma GCC unroll 4
    for (int i = 0; i < COLUMNS; i++) w[i] = c->w[i];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) total[r][0] = c->bias[0], total[r][1] = c->bias[1], row[r] = a + (size_t)r * a_step;
    for (size_t left = c->k; left;) {
        size_t now = left < CHUNK ? left : CHUNK;
        left -= now;
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int i = 0; i < COLUMNS; i++) acc[r][i] = vdupq_n_s32(0);
        for (; now >= 8; now -= 8) {
#pragma GCC unroll 4
            for (int r = 0; r < R; r++) x[r] = ek_next8_s16(&row[r]);
#pragma GCC unroll 4
            for (int i = 0; i < COLUMNS; i++) v[i] = vmovl_s8(ek_next8(&w[i]));
            add_eight(acc, x, v, R);
        }
        if (now) { /* after which nothing is left */
#pragma GCC unroll 4
            for (int r = 0; r < R; r++) x[r] = load_part(row[r], now);
#pragma GCC unroll 4
            for (int i = 0; i < COLUMNS; i++) v[i] = vmovl_s8(ek_load_part8(w[i], now));
            add_eight(acc, x, v, R);
        }
        fold(total[0], acc[0]); /* compilers refuse to unroll this, and keep the sums in memory for it */
        if (R > 1) fold(total[1], acc[1]);
        if (R > 2) fold(total[2], acc[2]);
        if (R > 3) fold(total[3], acc[3]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++, out += out_step)
        store_part(out, ek_requantize4(total[r][0], total[r][1], &c->ratios, c->qmin, c->qmax), c->count);
}

#ifdef __aarch64__
enum { ROWS = 4 };
#else
enum { ROWS = 2 }; /* ARMv7 has half the registers */
#endif

void ek_neon_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    for (uint32_t j = 0; j < g->n; j += COLUMNS) {
        const columns c = columns_at(g, j);
        const int16_t *row = a;
        int16_t *to = out + j;
        size_t left = rows;
        for (; left >= ROWS; left -= ROWS, row += ROWS * a_step, to += ROWS * out_step)
            block(to, out_step, row, a_step, &c, ROWS);
        for (; left; left--, row += a_step, to += out_step) block(to, 0, row, 0, &c, 1);
    }
}

/* Two products of int16 may not fit int32 together: each goes to 64 bits. */
EK_INLINE int64x2_t multiply_add_wide(int64x2_t acc, int16x8_t a, int16x8_t b)
{
    acc = vpadalq_s32(acc, vmull_s16(vget_low_s16(a), vget_low_s16(b)));
#ifdef __aarch64__
    return vpadalq_s32(acc, vmull_high_s16(a, b));
#else
    return vpadalq_s32(acc, vmull_s16(vget_high_s16(a), vget_high_s16(b)));
#endif
}

static void four_columns(int16_t *out, const int16_t *a, const int16_t *b[COLUMNS], const ek_mat_mul_s16 *m,
                         const ek_ratios4 *ratios, uint32_t count)
{
    int64x2_t acc[COLUMNS];
    uint32_t left = m->k;
#pragma GCC unroll 4
    for (int i = 0; i < COLUMNS; i++) acc[i] = vdupq_n_s64(0);
    for (; left >= 8; left -= 8) {
        const int16x8_t x = ek_next8_s16(&a);
#pragma GCC unroll 4
        for (int i = 0; i < COLUMNS; i++) acc[i] = multiply_add_wide(acc[i], x, ek_next8_s16(&b[i]));
    }
    if (left) {
        const int16x8_t x = load_part(a, left);
#pragma GCC unroll 4
        for (int i = 0; i < COLUMNS; i++) acc[i] = multiply_add_wide(acc[i], x, load_part(b[i], left));
    }
    store_part(out,
               ek_requantize4(across(acc[0], acc[1]), across(acc[2], acc[3]), ratios, vdup_n_s16((int16_t)m->qmin),
                              vdup_n_s16((int16_t)m->qmax)),
               count);
}

void ek_neon_mat_mul_s16(int16_t *out, const int16_t *a, size_t rows, const ek_mat_mul_s16 *m)
{
    const ek_ratios4 ratios = ek_ratios_from(vdupq_n_s32(m->multiplier), vdupq_n_s32((int32_t)m->shift));
    for (; rows; rows--, a += m->k, out += m->n)
        for (uint32_t j = 0; j < m->n; j += COLUMNS) {
            const uint32_t count = m->n - j < COLUMNS ? m->n - j : COLUMNS;
            const int16_t *b[COLUMNS];
            for (uint32_t i = 0; i < COLUMNS; i++) b[i] = m->b + (size_t)(j + (i < count ? i : count - 1)) * m->k;
            four_columns(out + j, a, b, m, &ratios, count);
        }
}
