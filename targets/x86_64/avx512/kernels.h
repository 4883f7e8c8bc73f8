#ifndef EK_X86_AVX512_KERNELS_H
#define EK_X86_AVX512_KERNELS_H

#include <string.h>

#include "edgekit/kernels.h"

/* Packed weights: a header whose first word says where the rest starts, 64-byte aligned if memory
 * stays where it was packed. They may come in a hostile file: no word of theirs leads further than
 * the size that was asked for. */
enum { EK_PACKED_HEADER = 16, EK_PACKED_LINE = 64 };

static inline size_t ek_packed_start(const void *packed)
{
    uint32_t start;
    memcpy(&start, packed, sizeof start);
    return EK_PACKED_HEADER + ((start - EK_PACKED_HEADER) & (EK_PACKED_LINE - EK_PACKED_HEADER));
}

ek_gemm_s8_fn ek_avx512_gemm_s8;
ek_packed_fn ek_avx512_packed_gemm_s8;
ek_pack_gemm_fn ek_avx512_pack_gemm_s8;
ek_gemm_f32_fn ek_avx512_gemm_f32;
ek_packed_fn ek_avx512_packed_gemm_f32;
ek_pack_gemm_f32_fn ek_avx512_pack_gemm_f32;
ek_depthwise_s8_fn ek_avx512_depthwise_s8;
ek_packed_fn ek_avx512_packed_depthwise_s8;
ek_pack_depthwise_s8_fn ek_avx512_pack_depthwise_s8;
ek_depthwise_f32_fn ek_avx512_depthwise_f32;
ek_add_s8_fn ek_avx512_add_s8;
ek_mul_s8_fn ek_avx512_mul_s8;
ek_lut_s8_fn ek_avx512_lut_s8;
ek_channel_lut_s8_fn ek_avx512_channel_lut_s8;
ek_prelu_s8_fn ek_avx512_prelu_s8;
ek_sum_s8_fn ek_avx512_sum_s8;
ek_max_s8_fn ek_avx512_max_s8;
ek_quantize_f32_s8_fn ek_avx512_quantize_f32_s8;
ek_quantize_f32_s16_fn ek_avx512_quantize_f32_s16;

/* Weights as ek_avx2_pack_gemm_s8 packs them. */
ek_gemm_s16_fn ek_avx512_gemm_s16;

#endif
