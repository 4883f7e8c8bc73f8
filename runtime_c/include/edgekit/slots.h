/* EK_SLOT_<slot>(function): a kernel in a table, or NULL in a build whose operators never call it. The
 * build finds that out from the operators' sources and defines EK_OMIT_<slot>, so that what no operator
 * reaches stays out of flash. */
#ifndef EDGEKIT_SLOTS_H
#define EDGEKIT_SLOTS_H

#include "edgekit/kernels.h"

#ifdef EK_OMIT_gemm_s8
#define EK_SLOT_gemm_s8(function) NULL
#else
#define EK_SLOT_gemm_s8(function) function
#endif
#ifdef EK_OMIT_row_w4
#define EK_SLOT_row_w4(function) NULL
#else
#define EK_SLOT_row_w4(function) function
#endif
#ifdef EK_OMIT_row_w4_s16
#define EK_SLOT_row_w4_s16(function) NULL
#else
#define EK_SLOT_row_w4_s16(function) function
#endif
#ifdef EK_OMIT_unpack_gemm_w4
#define EK_SLOT_unpack_gemm_w4(function) NULL
#else
#define EK_SLOT_unpack_gemm_w4(function) function
#endif
#ifdef EK_OMIT_gemm_s16
#define EK_SLOT_gemm_s16(function) NULL
#else
#define EK_SLOT_gemm_s16(function) function
#endif
#ifdef EK_OMIT_mat_mul_s16
#define EK_SLOT_mat_mul_s16(function) NULL
#else
#define EK_SLOT_mat_mul_s16(function) function
#endif
#ifdef EK_OMIT_gemm_f32
#define EK_SLOT_gemm_f32(function) NULL
#else
#define EK_SLOT_gemm_f32(function) function
#endif
#ifdef EK_OMIT_depthwise_s8
#define EK_SLOT_depthwise_s8(function) NULL
#else
#define EK_SLOT_depthwise_s8(function) function
#endif
#ifdef EK_OMIT_depthwise_s16
#define EK_SLOT_depthwise_s16(function) NULL
#else
#define EK_SLOT_depthwise_s16(function) function
#endif
#ifdef EK_OMIT_depthwise_f32
#define EK_SLOT_depthwise_f32(function) NULL
#else
#define EK_SLOT_depthwise_f32(function) function
#endif
#ifdef EK_OMIT_add_s8
#define EK_SLOT_add_s8(function) NULL
#else
#define EK_SLOT_add_s8(function) function
#endif
#ifdef EK_OMIT_add_s16
#define EK_SLOT_add_s16(function) NULL
#else
#define EK_SLOT_add_s16(function) function
#endif
#ifdef EK_OMIT_mul_s8
#define EK_SLOT_mul_s8(function) NULL
#else
#define EK_SLOT_mul_s8(function) function
#endif
#ifdef EK_OMIT_lut_s8
#define EK_SLOT_lut_s8(function) NULL
#else
#define EK_SLOT_lut_s8(function) function
#endif
#ifdef EK_OMIT_channel_lut_s8
#define EK_SLOT_channel_lut_s8(function) NULL
#else
#define EK_SLOT_channel_lut_s8(function) function
#endif
#ifdef EK_OMIT_sum_s8
#define EK_SLOT_sum_s8(function) NULL
#else
#define EK_SLOT_sum_s8(function) function
#endif
#ifdef EK_OMIT_max_s8
#define EK_SLOT_max_s8(function) NULL
#else
#define EK_SLOT_max_s8(function) function
#endif
#ifdef EK_OMIT_quantize_f32_s8
#define EK_SLOT_quantize_f32_s8(function) NULL
#else
#define EK_SLOT_quantize_f32_s8(function) function
#endif
#ifdef EK_OMIT_quantize_f32_s16
#define EK_SLOT_quantize_f32_s16(function) NULL
#else
#define EK_SLOT_quantize_f32_s16(function) function
#endif

#endif
