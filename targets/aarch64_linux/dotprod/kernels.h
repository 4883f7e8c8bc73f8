#ifndef EK_DOTPROD_KERNELS_H
#define EK_DOTPROD_KERNELS_H

#include "edgekit/kernels.h"

ek_gemm_s8_fn ek_dotprod_gemm_s8;
ek_packed_fn ek_dotprod_packed_gemm_s8;
ek_pack_gemm_fn ek_dotprod_pack_gemm_s8;
ek_depthwise_s8_fn ek_dotprod_depthwise_s8;
ek_packed_fn ek_dotprod_packed_depthwise_s8;
ek_pack_depthwise_s8_fn ek_dotprod_pack_depthwise_s8;

#endif
