/* Kernels for ARMv6-M: eight registers for most instructions, 32-bit products, aligned words only. */
#ifndef EK_CORTEX_M_M0_KERNELS_H
#define EK_CORTEX_M_M0_KERNELS_H

#include "edgekit/kernels.h"

enum { EK_M0_CHANNELS = 4 /* of a gemm block */, EK_M0_W4_BLOCK = 1024 };

/* pack.c: portable, also for the host that prepares files. */
ek_packed_fn ek_m0_packed_gemm_s8;
ek_pack_gemm_fn ek_m0_pack_gemm_s8;

ek_gemm_s8_fn ek_m0_gemm_s8;
ek_unpack_gemm_w4_fn ek_m0_unpack_gemm_w4;
ek_row_w4_fn ek_m0_row_w4;
ek_depthwise_s8_fn ek_m0_depthwise_s8;

/* sums[j] += sum of a[i] * w[i][j] over k > 0, for 4 channels j. */
void ek_m0_dot_4(const int8_t *a, const uint8_t *w, size_t k, int32_t *sums);

typedef struct ek_m0_taps {
    size_t offset, c; /* elements behind each tap; between the weights of two */
    const int8_t *const *end;
} ek_m0_taps;

/* sums[j] += sum of tap[offset + j] * w[j] over taps up to the end, for 4 channels j. */
void ek_m0_taps_4(const int8_t *const *taps, const int8_t *w, const ek_m0_taps *t, int32_t *sums);

#endif
