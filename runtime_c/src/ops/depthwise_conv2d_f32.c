#include "element_f32.h"

typedef ek_fmt_depthwise_conv2d_f32 ek_params;
typedef ek_depthwise_f32 ek_depthwise;

#define EK_OP        ek_op_depthwise_conv2d_f32
#define EK_DEPTHWISE kernels->depthwise_f32
#include "depthwise_conv2d.h"
