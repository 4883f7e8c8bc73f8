/* Kernels for ARMv7E-M and ARMv8-M cores with the DSP extension. */
#ifndef EK_CORTEX_M_DSP_KERNELS_H
#define EK_CORTEX_M_DSP_KERNELS_H

#include "edgekit/kernels.h"

enum { EK_DSP_GEMM_ROWS = 6, EK_DSP_GEMM_ROWS16 = 6, EK_DSP_VECMAT_ROWS = 5, EK_DSP_W4_BLOCK = 2048 };

/* pack.c: portable, also for the host that prepares files. */
ek_packed_fn ek_dsp_packed_gemm_s8;
ek_pack_gemm_fn ek_dsp_pack_gemm_s8;
ek_packed_fn ek_dsp_packed_gemm_s16;
ek_pack_gemm_fn ek_dsp_pack_gemm_s16;
ek_packed_fn ek_dsp_packed_depthwise_s8;
ek_pack_depthwise_s8_fn ek_dsp_pack_depthwise_s8;

ek_gemm_s8_fn ek_dsp_gemm_s8;
ek_unpack_gemm_w4_fn ek_dsp_unpack_gemm_w4;
ek_row_w4_fn ek_dsp_row_w4;
ek_row_w4_s16_fn ek_dsp_row_w4_s16;
ek_vecmat_s8_fn ek_dsp_vecmat_s8;
ek_gemm_s16_fn ek_dsp_gemm_s16;
ek_depthwise_s8_fn ek_dsp_depthwise_s8;
ek_depthwise_s16_fn ek_dsp_depthwise_s16;
ek_add_s8_fn ek_dsp_add_s8;
ek_add_s16_fn ek_dsp_add_s16;
ek_sum_s8_fn ek_dsp_sum_s8;
ek_max_s8_fn ek_dsp_max_s8;

#endif
