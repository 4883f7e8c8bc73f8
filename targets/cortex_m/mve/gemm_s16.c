/* gemm_s16 on vmladava: 8 products of halves and their sum in one instruction; weights, as in the file,
 * widen as they are loaded. 4 columns of a row share its loads. */
#include "fixed_point.h"
#include "kernels.h"
#include "requant.h"

enum { COLUMNS = 4, CHUNK = 256 }; /* products whose sum fits int32 */

static void sums(int32_t sum[COLUMNS], const int16_t *a, const int8_t *const w[COLUMNS], size_t at, size_t count)
{
    const int8_t *w0 = w[0] + at, *w1 = w[1] + at, *w2 = w[2] + at, *w3 = w[3] + at;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    a += at;
    for (; count >= 8; count -= 8, a += 8, w0 += 8, w1 += 8, w2 += 8, w3 += 8) {
        const int16x8_t x = vldrhq_s16(a);
        s0 = vmladavaq_s16(s0, x, vldrbq_s16(w0));
        s1 = vmladavaq_s16(s1, x, vldrbq_s16(w1));
        s2 = vmladavaq_s16(s2, x, vldrbq_s16(w2));
        s3 = vmladavaq_s16(s3, x, vldrbq_s16(w3));
    }
    const mve_pred16_t some = vctp16q(count);
    const int16x8_t x = vldrhq_z_s16(a, some);
    sum[0] = vmladavaq_s16(s0, x, vldrbq_z_s16(w0, some));
    sum[1] = vmladavaq_s16(s1, x, vldrbq_z_s16(w1, some));
    sum[2] = vmladavaq_s16(s2, x, vldrbq_z_s16(w2, some));
    sum[3] = vmladavaq_s16(s3, x, vldrbq_z_s16(w3, some));
}

/* Up to 4 columns of a row from channel j on. */
static void block(int16_t *out, const int16_t *a, uint32_t j, const ek_gemm_s16 *g)
{
    const ek_requant16 *q = &g->requant;
    const uint32_t columns = g->n - j < COLUMNS ? g->n - j : COLUMNS;
    const int8_t *w[COLUMNS];
    int64_t total[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) {
        const uint32_t channel = j + (i < columns ? i : columns - 1);
        w[i] = (const int8_t *)g->weights + (size_t)channel * g->k;
        total[i] = q->bias[channel];
    }
    for (uint32_t at = 0; at < g->k; at += CHUNK) {
        int32_t sum[COLUMNS];
        sums(sum, a, w, at, g->k - at < CHUNK ? g->k - at : CHUNK);
        for (uint32_t i = 0; i < COLUMNS; i++) total[i] += sum[i];
    }
    for (uint32_t i = 0; i < columns; i++)
        out[i] = ek_requantize16(total[i], q->multiplier[j + i], q->shift[j + i], q->qmin, q->qmax);
}

void ek_mve_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    for (; rows; rows--, a += a_step, out += out_step)
        for (uint32_t j = 0; j < g->n; j += COLUMNS) block(out + j, a, j, g);
}
