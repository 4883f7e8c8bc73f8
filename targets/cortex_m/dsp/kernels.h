/* Kernels for ARMv7E-M and ARMv8-M cores with the DSP extension. */
#ifndef EK_CORTEX_M_DSP_KERNELS_H
#define EK_CORTEX_M_DSP_KERNELS_H

#include "edgekit/kernels.h"

enum { EK_DSP_GEMM_ROWS = 6, EK_DSP_GEMM_ROWS16 = 6 };

/* pack.c: portable, also for the host that prepares files. */
size_t ek_dsp_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_dsp_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
size_t ek_dsp_packed_gemm_s16(uint32_t n, uint32_t k);
void ek_dsp_pack_gemm_s16(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
size_t ek_dsp_packed_depthwise_s8(uint32_t taps, uint32_t c);
void ek_dsp_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d);

void ek_dsp_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
void ek_dsp_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g);
void ek_dsp_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d);
void ek_dsp_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d);
void ek_dsp_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p);
void ek_dsp_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c);
void ek_dsp_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c);

#endif
