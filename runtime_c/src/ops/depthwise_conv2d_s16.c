#include "element_s16.h"

typedef ek_fmt_depthwise_conv2d_s16 ek_params;
#define EK_OP ek_op_depthwise_conv2d_s16
#include "depthwise_s16.h"
