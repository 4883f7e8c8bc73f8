#ifndef EK_I8MM_KERNELS_H
#define EK_I8MM_KERNELS_H

#include "edgekit/kernels.h"

ek_gemm_s8_fn ek_i8mm_gemm_s8;
ek_packed_fn ek_i8mm_packed_gemm_s8;
ek_pack_gemm_fn ek_i8mm_pack_gemm_s8;

#endif
