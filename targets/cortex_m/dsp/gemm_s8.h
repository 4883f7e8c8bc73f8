/* The inner loops of gemm_s8: they need every register, hence assembly. */
#ifndef EK_CORTEX_M_DSP_GEMM_S8_H
#define EK_CORTEX_M_DSP_GEMM_S8_H

#include <stddef.h>
#include <stdint.h>

/* Known to gemm_s8_loops.c by offset. The first four, w and sums advance. */
typedef struct ek_dsp_job {
    const int32_t *bias, *multiplier; /* of the next pair */
    const int8_t *shift;
    int8_t *out;
    size_t out_step;
    int32_t offset; /* 2 * zero_point + 1 */
    const uint8_t *w;
    const int32_t *x;  /* int32 correction[4] of the rows, then spread inputs */
    const void *enter; /* three rows: the code of the first step */
    int32_t *sums;     /* [pairs][a, b][rows] to go on from; NULL to start from bias and finish */
    uint32_t finish;   /* with sums: whether to requantize, not to store sums */
    size_t w_gap;      /* bytes from the end of a pair's weights, one row: start, to the next one's */
    size_t pairs;      /* at least one */
    const uint32_t *x_end;
} ek_dsp_job;

enum { EK_DSP_STEP_BYTES = 68, EK_DSP_UNROLLED_STEPS = 4 };

extern const uint8_t ek_dsp_steps[]; /* that many steps' code, each so long */

/* Out or sums of `pairs` pairs of channels: for three rows, in steps of four of k, at least one; or for
 * one row, in steps of 16 of k. Shifts are to the right. */
void ek_dsp_pairs_3(ek_dsp_job *job);
void ek_dsp_pairs_1(ek_dsp_job *job);

/* Spreads 4 * fours inputs of three rows; correction[row] -= 128 * their sum. Returns the end of x. */
uint32_t *ek_dsp_spread_3(int32_t *correction, const int8_t *a, size_t step, size_t fours, uint32_t *x);

#endif
