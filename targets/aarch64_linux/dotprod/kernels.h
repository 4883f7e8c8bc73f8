#ifndef EK_DOTPROD_KERNELS_H
#define EK_DOTPROD_KERNELS_H

#include "edgekit/kernels.h"

void ek_dotprod_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
size_t ek_dotprod_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_dotprod_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
void ek_dotprod_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                             const ek_depthwise_s8 *d);
size_t ek_dotprod_packed_depthwise_s8(uint32_t taps, uint32_t c);
void ek_dotprod_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d);

#endif
