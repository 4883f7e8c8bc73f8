/* vecmat_s8: 4 columns at a time by 8 elements of a where columns lie together, else 8 columns by one. */
#include "kernels.h"
#include "requant.h"

enum { COLUMNS = 4, LANES = 8 };

typedef struct scaling {
    int32x4_t multiplier, shift, qmin, qmax;
    int32_t zero_point;
} scaling;

EK_INLINE void store(int8_t *out, int32x4_t sums, const scaling *s, mve_pred16_t some)
{
    const int32x4_t v = vaddq_n_s32(ek_mve_scale(sums, s->multiplier, s->shift), s->zero_point);
    vstrbq_p_s32(out, vminq_s32(vmaxq_s32(v, s->qmin), s->qmax), some);
}

/* Columns beyond the last are the last one again, and not stored. */
static void turned(int8_t *out, const int16_t *a, const int8_t *b, uint32_t count, const ek_vecmat_s8 *m,
                   const scaling *s)
{
    const uint32_t k = m->k;
    const int8_t *b1 = count > 1 ? b + k : b, *b2 = count > 2 ? b1 + k : b1, *b3 = count > 3 ? b2 + k : b2;
    int32_t s0 = m->offset, s1 = s0, s2 = s0, s3 = s0;
    for (uint32_t i = 0; i < k; i += LANES) {
        const mve_pred16_t left = vctp16q(k - i);
        const int16x8_t x = vldrhq_z_s16(a + i, left);
        s0 = vmladavaq_s16(s0, x, vldrbq_z_s16(b + i, left));
        s1 = vmladavaq_s16(s1, x, vldrbq_z_s16(b1 + i, left));
        s2 = vmladavaq_s16(s2, x, vldrbq_z_s16(b2 + i, left));
        s3 = vmladavaq_s16(s3, x, vldrbq_z_s16(b3 + i, left));
    }
    const int32_t sums[COLUMNS] = { s0, s1, s2, s3 };
    store(out, vld1q_s32(sums), s, vctp32q(count));
}

static void plain(int8_t *out, const int16_t *a, const int8_t *b, uint32_t count, const ek_vecmat_s8 *m,
                  const scaling *s)
{
    const mve_pred16_t first = vctp32q(count), second = vctp32q(count > COLUMNS ? count - COLUMNS : 0);
    int32x4_t lo = vdupq_n_s32(m->offset), hi = lo;
    for (uint32_t i = 0; i < m->k; i++, b += m->n) {
        lo = vmlaq_n_s32(lo, vldrbq_z_s32(b, first), a[i]);
        hi = vmlaq_n_s32(hi, vldrbq_z_s32(b + COLUMNS, second), a[i]);
    }
    store(out, lo, s, first);
    store(out + COLUMNS, hi, s, second);
}

void ek_mve_vecmat_s8(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    const scaling s = { vdupq_n_s32(m->multiplier), vdupq_n_s32(m->shift), vdupq_n_s32(m->qmin), vdupq_n_s32(m->qmax),
                        m->zero_point };
    const uint32_t step = m->turned ? COLUMNS : LANES;
    for (uint32_t j = 0; j < m->n; j += step) {
        const uint32_t count = m->n - j < step ? m->n - j : step;
        if (m->turned)
            turned(out + j, a, m->b + (size_t)j * m->k, count, m, &s);
        else
            plain(out + j, a, m->b + j, count, m, &s);
    }
}
