#include "element_s8.h"

typedef ek_fmt_depthwise_conv2d_w4 ek_params;
#include "depthwise_s8.h"

#define EK_OP ek_op_depthwise_conv2d_w4
#include "depthwise_w4.h"
