#include "gemm_f32.h"

typedef ek_fmt_conv_transpose2d_f32 ek_params;
#define EK_OP ek_op_conv_transpose2d_f32
#include "conv_transpose2d.h"
