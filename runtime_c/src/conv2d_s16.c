/* What ops/conv2d_s16.c and ops/conv2d_w4_s16.c share. */
#include "ops/conv2d_s16.h"

typedef ek_fmt_conv2d_s16 ek_params;
#include "ops/conv2d_shared_body.h"
