/* What ops/conv2d_s8.c and ops/conv2d_w4.c share. */
#include "ops/conv2d_s8.h"
#include "ops/conv_lines.h"

typedef ek_fmt_conv2d_s8 ek_params;
#include "ops/conv2d_shared_body.h"
