#ifndef EK_I8MM_KERNELS_H
#define EK_I8MM_KERNELS_H

#include "edgekit/kernels.h"

void ek_i8mm_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
size_t ek_i8mm_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_i8mm_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);

#endif
