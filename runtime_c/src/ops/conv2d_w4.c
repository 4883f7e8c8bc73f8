#include "conv2d_s8.h"
#include "w4_s8.h"

typedef ek_fmt_conv2d_w4 ek_params;
#define EK_OP ek_op_conv2d_w4
#include "conv2d_w4.h"
