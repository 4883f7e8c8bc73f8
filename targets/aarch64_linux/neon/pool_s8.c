#include "kernels.h"
#include "requant.h"

enum { BLOCK = 16, ROWS = 256 }; /* 256 int8 always fit an int16 sum */

EK_INLINE void add_words(int32_t *acc, int16x8_t sum)
{
    vst1q_s32(acc, vaddw_s16(vld1q_s32(acc), vget_low_s16(sum)));
    vst1q_s32(acc + 4, vaddw_s16(vld1q_s32(acc + 4), vget_high_s16(sum)));
}

static void sum16(int32_t *acc, const int8_t *in, size_t step, size_t rows)
{
    int16x8_t lo = vdupq_n_s16(0), hi = lo;
    for (size_t i = 0; i < rows; i++, in += step) {
        const int8x16_t x = vld1q_s8(in);
        lo = vaddw_s8(lo, vget_low_s8(x));
        hi = vaddw_s8(hi, vget_high_s8(x));
    }
    add_words(acc, lo);
    add_words(acc + 8, hi);
}

static void sum8(int32_t *acc, const int8_t *in, size_t step, size_t rows)
{
    int16x8_t sum = vdupq_n_s16(0);
    for (size_t i = 0; i < rows; i++, in += step) sum = vaddw_s8(sum, vld1_s8(in));
    add_words(acc, sum);
}

void ek_neon_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t row = 0; row < count; row += ROWS, in += ROWS * step) {
        const size_t rows = count - row < ROWS ? count - row : ROWS;
        size_t j = 0;
        for (; j + BLOCK <= c; j += BLOCK) sum16(acc + j, in + j, step, rows);
        if (c - j >= 8) {
            sum8(acc + j, in + j, step, rows);
            j += 8;
        }
        for (; j < c; j++)
            for (size_t i = 0; i < rows; i++) acc[j] += in[i * step + j];
    }
}

/* Blocks may overlap: a maximum counted twice is the same. */
void ek_neon_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t j = 0; c >= BLOCK && j < c; j += BLOCK) {
        const size_t at = j + BLOCK <= c ? j : c - BLOCK;
        int8x16_t most = vld1q_s8(out + at);
        for (size_t i = 0; i < count; i++) most = vmaxq_s8(most, vld1q_s8(in + i * step + at));
        vst1q_s8(out + at, most);
    }
    for (size_t j = 0; c >= 8 && c < BLOCK && j < c; j += 8) {
        const size_t at = j + 8 <= c ? j : c - 8;
        int8x8_t most = vld1_s8(out + at);
        for (size_t i = 0; i < count; i++) most = vmax_s8(most, vld1_s8(in + i * step + at));
        vst1_s8(out + at, most);
    }
    for (size_t i = 0; c < 8 && i < count; i++)
        for (size_t j = 0; j < c; j++) out[j] = in[i * step + j] > out[j] ? in[i * step + j] : out[j];
}
