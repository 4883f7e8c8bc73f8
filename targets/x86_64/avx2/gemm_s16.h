#ifndef EK_X86_AVX2_GEMM_S16_H
#define EK_X86_AVX2_GEMM_S16_H

#include "requant16.h"

/* Of panels of weights: their columns, and the steps whose products fit int32 in sum. */
enum { LANES = 16, CHUNK = 256 };

typedef struct rows16 {
    const int16_t *a;
    size_t step;
} rows16;

#endif
