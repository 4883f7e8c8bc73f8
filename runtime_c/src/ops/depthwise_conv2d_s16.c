#include "element_s16.h"

typedef ek_fmt_depthwise_conv2d_s16 ek_params;
typedef ek_depthwise_s16 ek_depthwise;

#define EK_OP        ek_op_depthwise_conv2d_s16
#define EK_DEPTHWISE kernels->depthwise_s16
#define EK_PACKED    kernels->packed_depthwise_s16
#define EK_PACK      kernels->pack_depthwise_s16
#include "depthwise_conv2d.h"
