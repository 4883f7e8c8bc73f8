#include "gemm_s16.h"

typedef ek_fmt_conv_transpose2d_s16 ek_params;
#define EK_OP ek_op_conv_transpose2d_s16
#include "conv_transpose2d.h"
