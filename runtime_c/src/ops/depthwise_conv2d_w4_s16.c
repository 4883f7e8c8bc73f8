#include "element_s16.h"

typedef ek_fmt_depthwise_conv2d_w4_s16 ek_params;
#include "depthwise_s16.h"

#define EK_OP ek_op_depthwise_conv2d_w4_s16
#include "depthwise_w4.h"
