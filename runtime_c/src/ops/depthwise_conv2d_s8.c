#include "element_s8.h"

typedef ek_fmt_depthwise_conv2d_s8 ek_params;
#define EK_OP ek_op_depthwise_conv2d_s8
#include "depthwise_s8.h"
