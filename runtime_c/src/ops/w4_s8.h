/* Blocks of weights of 4 bits for gemm_s8. */
#ifndef EK_W4_S8_H
#define EK_W4_S8_H

#include "gemm_s8.h"

#define EK_W4(what)      ek_w4_s8_##what
#define EK_UNPACK_PACKED kernels->unpack_gemm_w4
#ifdef EK_TABLES_UNPACK /* firmware all of whose tables do */
#define EK_AT_ONCE true
#else
#define EK_AT_ONCE kernels->gemm_w4_block
#endif
#include "w4_blocks.h"

#endif
