#include "conv2d_s16.h"

typedef ek_fmt_conv2d_s16 ek_params;
#define EK_OP ek_op_conv2d_s16
#include "conv2d_w8.h"
