/* Convolution of int16, the same code for Conv2dS16 and Conv2dW4S16: a file with weights of 4 bits has layers of
 * either. */
#ifndef EK_CONV2D_S16_H
#define EK_CONV2D_S16_H

#include "gemm_s16.h"

#define EK_CONV2D(what) ek_conv2d_s16_##what
#include "conv2d_shared.h"

/* The parameters of the one begin as all of the other's. */
EK_STATIC_ASSERT(offsetof(ek_fmt_conv2d_w4_s16, weights) == offsetof(ek_fmt_conv2d_s16, weights) &&
                     offsetof(ek_fmt_conv2d_w4_s16, requant) == offsetof(ek_fmt_conv2d_s16, requant),
                 "either is read as Conv2dS16");

#endif
