/* The inner loops of gemm_s16, and the layout of its weights. */
#ifndef EK_CORTEX_M_DSP_GEMM_S16_H
#define EK_CORTEX_M_DSP_GEMM_S16_H

#include <stddef.h>
#include <stdint.h>

/* Packed: this, then pairs of channels (a, b), fours of k each, filled up with zeros. A word has the bytes
 * a[i], b[i], a[i + 1], b[i + 1], which SXTB16 makes two of each channel. */
typedef struct ek_dsp_gemm16 {
    uint32_t wide, reserved[3]; /* wide: an accumulator may not fit int32 */
} ek_dsp_gemm16;

static inline size_t ek_dsp_pair_bytes16(uint32_t k)
{
    return (k / 4 + (k % 4 != 0)) * (size_t)8;
}

/* Known to gemm_s16_loops.c by offset. w and sums advance. */
typedef struct ek_dsp_job16 {
    const uint32_t *x, *x_end; /* inputs, two of each row in turn */
    const void *enter;         /* three rows: the code of the first step */
    int32_t *sums;             /* [pairs][a, b][rows], added to */
    const uint8_t *w;
    size_t w_gap; /* bytes from the end of a pair's weights, one row: start, to the next one's */
    size_t pairs; /* at least one */
} ek_dsp_job16;

enum { EK_DSP_STEP_BYTES16 = 76, EK_DSP_UNROLLED_STEPS16 = 4 };

extern const uint8_t ek_dsp_steps16[]; /* that many steps' code, each so long */

/* Three rows, in steps of four of k, at least one; or one row, in steps of 8 of k. */
void ek_dsp_pairs16_3(ek_dsp_job16 *job);
void ek_dsp_pairs16_1(ek_dsp_job16 *job);

#endif
