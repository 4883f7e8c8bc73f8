#include "gemm_s8.h"

typedef ek_fmt_conv_transpose2d_s8 ek_params;
#define EK_OP ek_op_conv_transpose2d_s8
#include "conv_transpose2d.h"
