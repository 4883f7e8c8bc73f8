#ifndef EK_HEXAGON_KERNELS_H
#define EK_HEXAGON_KERNELS_H

#include "edgekit/kernels.h"

ek_gemm_s8_fn ek_hvx_gemm_s8;
ek_packed_fn ek_hvx_packed_gemm_s8;
ek_pack_gemm_fn ek_hvx_pack_gemm_s8;
ek_depthwise_s8_fn ek_hvx_depthwise_s8;
ek_packed_fn ek_hvx_packed_depthwise_s8;
ek_pack_depthwise_s8_fn ek_hvx_pack_depthwise_s8;
ek_add_s8_fn ek_hvx_add_s8;
ek_mul_s8_fn ek_hvx_mul_s8;
ek_lut_s8_fn ek_hvx_lut_s8;
ek_sum_s8_fn ek_hvx_sum_s8;
ek_max_s8_fn ek_hvx_max_s8;

#endif
