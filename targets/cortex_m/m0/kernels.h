/* Kernels for ARMv6-M: eight registers for most instructions, 32-bit products, aligned words only. */
#ifndef EK_CORTEX_M_M0_KERNELS_H
#define EK_CORTEX_M_M0_KERNELS_H

#include "edgekit/kernels.h"

/* pack.c: portable, also for the host that prepares files. */
size_t ek_m0_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_m0_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);

void ek_m0_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
void ek_m0_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                        const ek_depthwise_s8 *d);

/* sums[j] += sum of a[i] * w[i][j] over k > 0, for 4 channels j. */
void ek_m0_dot_4(const int8_t *a, const uint8_t *w, size_t k, int32_t *sums);

typedef struct ek_m0_taps {
    size_t offset, c; /* elements behind each tap; between the weights of two */
    const int8_t *const *end;
} ek_m0_taps;

/* sums[j] += sum of tap[offset + j] * w[j] over taps up to the end, for 4 channels j. */
void ek_m0_taps_4(const int8_t *const *taps, const int8_t *w, const ek_m0_taps *t, int32_t *sums);

#endif
