/* Convolution of int8, the same code for Conv2dS8 and Conv2dW4: a file with weights of 4 bits has layers of either. */
#ifndef EK_CONV2D_S8_H
#define EK_CONV2D_S8_H

#include "gemm_s8.h"

#define EK_CONV2D(what) ek_conv2d_s8_##what
#include "conv2d_shared.h"

/* The parameters of the one begin as all of the other's. */
EK_STATIC_ASSERT(offsetof(ek_fmt_conv2d_w4, weights) == offsetof(ek_fmt_conv2d_s8, weights) &&
                     offsetof(ek_fmt_conv2d_w4, requant) == offsetof(ek_fmt_conv2d_s8, requant),
                 "either is read as Conv2dS8");

#endif
