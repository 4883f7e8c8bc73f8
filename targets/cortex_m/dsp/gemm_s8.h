/* The inner loops of gemm_s8: they need every register, hence assembly. */
#ifndef EK_CORTEX_M_DSP_GEMM_S8_H
#define EK_CORTEX_M_DSP_GEMM_S8_H

#include <stddef.h>
#include <stdint.h>

/* Known to gemm_s8_loops.c by offset. */
typedef struct ek_dsp_job {
    const int32_t *bias, *multiplier; /* of the next pair; these advance */
    const int8_t *shift;
    int8_t *out;
    size_t out_step;
    int32_t offset;
    const void *w;
    const int32_t *x; /* a buffer: corrections of three rows, a spare word, spread inputs */
    uint32_t skip;    /* bytes of code to skip when entering the loop of four steps */
    int32_t *sums;    /* [pairs][a, b][3] to go on from; NULL to start from bias */
    uint32_t finish;  /* with sums: whether to requantize, not to store sums */
    size_t w_gap;     /* bytes from the end of a pair's weights to the next one's */
    size_t pairs;     /* at least one */
    const uint32_t *x_end;
} ek_dsp_job;

enum { EK_DSP_STEP_BYTES = 68 };

/* Four of k a step, at least one: out or sums of `pairs` pairs of channels for three rows. */
void ek_dsp_pairs_3(ek_dsp_job *job);

/* sums[0] (a) and sums[1] (b) += products of one row; x a multiple of 8 words. */
void ek_dsp_pair_1(const uint32_t *x, const void *w, int32_t *sums, const uint32_t *x_end);

/* Spreads 4 * fours inputs of three rows; correction[row] -= 128 * their sum. Returns the end of x. */
uint32_t *ek_dsp_spread_3(int32_t *correction, const int8_t *a, size_t step, size_t fours, uint32_t *x);

#endif
