#ifndef EK_X86_AVX2_KERNELS_H
#define EK_X86_AVX2_KERNELS_H

#include "edgekit/kernels.h"

ek_gemm_s8_fn ek_avx2_gemm_s8;
ek_packed_fn ek_avx2_packed_gemm_s8;
ek_pack_gemm_fn ek_avx2_pack_gemm_s8;
ek_gemm_f32_fn ek_avx2_gemm_f32;
ek_packed_fn ek_avx2_packed_gemm_f32;
ek_pack_gemm_f32_fn ek_avx2_pack_gemm_f32;
ek_depthwise_s8_fn ek_avx2_depthwise_s8;
ek_depthwise_f32_fn ek_avx2_depthwise_f32;
ek_add_s8_fn ek_avx2_add_s8;
ek_mul_s8_fn ek_avx2_mul_s8;
ek_lut_s8_fn ek_avx2_lut_s8;
ek_channel_lut_s8_fn ek_avx2_channel_lut_s8;
ek_prelu_s8_fn ek_avx2_prelu_s8;
ek_sum_s8_fn ek_avx2_sum_s8;
ek_max_s8_fn ek_avx2_max_s8;
ek_quantize_f32_s8_fn ek_avx2_quantize_f32_s8;
ek_quantize_f32_s16_fn ek_avx2_quantize_f32_s16;

/* Weights as ek_avx2_pack_gemm_s8 packs them. */
ek_gemm_s16_fn ek_avx2_gemm_s16;
ek_mat_mul_s16_fn ek_avx2_mat_mul_s16;
ek_vecmat_s8_fn ek_avx2_vecmat_s8;
ek_depthwise_s16_fn ek_avx2_depthwise_s16;

#endif
