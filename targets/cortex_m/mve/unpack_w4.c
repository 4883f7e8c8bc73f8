/* Blocks of 4 channels, as pack.c writes them, from rows of nibbles: a vector of 16 weights comes from 8 bytes. */
#include <arm_mve.h>
#include <string.h>

#include "kernels.h"

static int8_t weight_at(const uint8_t *row, uint32_t i)
{
    return (int8_t)((int8_t)(uint8_t)((uint32_t)row[i / 2] << (i % 2 ? 0 : 4)) >> 4);
}

/* A channel whose groups end within vectors. */
static void by_weights(int8_t *to, const uint8_t *row, const uint8_t *multiplier, const ek_w4 *w)
{
    for (uint32_t i = 0; i < w->k; i++)
        to[(size_t)(i / EK_MVE_DEPTH) * EK_MVE_DEPTH * EK_MVE_COLUMNS + i % EK_MVE_DEPTH] =
            (int8_t)(weight_at(row, i) * multiplier[i / w->group]);
}

static void by_vectors(int8_t *to, const uint8_t *row, const uint8_t *multiplier, const ek_w4 *w)
{
    int32_t left = (int32_t)(w->k / 2 + w->k % 2); /* bytes */
    const int32_t most = w->group && w->group < w->k ? (int32_t)(w->group / 2) : left;
    while (left > 0) {
        const int8x16_t m = vdupq_n_s8(w->group ? (int8_t)*multiplier++ : 1);
        int32_t now = left < most ? left : most;
        for (left -= now; now > 0; now -= EK_MVE_DEPTH / 2) {
            uint16x8_t x = vldrbq_z_u16(row, vctp16q((uint32_t)now));
            x = vsliq_n_u16(x, x, 4);
            const int8x16_t weights = vshrq_n_s8(vshlq_n_s8(vreinterpretq_s8_u16(x), 4), 4);
            vst1q_s8(to, vmulq_s8(weights, m));
            row += EK_MVE_DEPTH / 2;
            to += EK_MVE_DEPTH * EK_MVE_COLUMNS;
        }
    }
}

void ek_mve_unpack_gemm_w4(void *packed, const ek_w4 *w, const int32_t *bias, uint32_t n)
{
    const uint32_t k = w->k, group = w->group;
    const size_t block = ek_mve_gemm_block(k), row = k / 2 + k % 2, groups = group ? k / group + (k % group != 0) : 0;
    for (uint32_t j = 0; j < n; j++) {
        int8_t *const first = (int8_t *)packed + j / EK_MVE_COLUMNS * block;
        int8_t *const to = first + j % EK_MVE_COLUMNS * EK_MVE_DEPTH;
        const uint8_t *const nibbles = w->nibbles + j * row, *const multipliers = w->multipliers + j * groups;
        if (group % EK_MVE_DEPTH)
            by_weights(to, nibbles, multipliers, w);
        else
            by_vectors(to, nibbles, multipliers, w);
        ((int32_t *)(void *)(first + block))[(int32_t)(j % EK_MVE_COLUMNS) - EK_MVE_COLUMNS] = bias[j];
    }
}
