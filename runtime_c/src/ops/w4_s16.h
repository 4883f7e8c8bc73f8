/* Blocks of weights of 4 bits for gemm_s16. */
#ifndef EK_W4_S16_H
#define EK_W4_S16_H

#include "gemm_s16.h"

#define EK_W4(what) ek_w4_s16_##what
#include "w4_blocks.h"

#endif
