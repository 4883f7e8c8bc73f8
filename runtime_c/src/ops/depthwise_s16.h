/* The body of depthwise_conv2d_s16.c and _w4_s16.c, which define ek_params. */
typedef ek_depthwise_s16 ek_depthwise;

#define EK_DEPTHWISE kernels->depthwise_s16
#define EK_PACKED    kernels->packed_depthwise_s16
#define EK_PACK      kernels->pack_depthwise_s16
#include "depthwise_conv2d.h"
