/* As element_f32.h: its matrix product. */
#ifndef EK_GEMM_F32_H
#define EK_GEMM_F32_H

#include <math.h>

#include "element_f32.h"

typedef ek_gemm_f32 ek_gemm;

enum { EK_BIAS_PER_PHASE = 0 };

static inline size_t ek_gemm_rows(const ek_kernels *kernels)
{
    return kernels->gemm_f32_rows;
}

/* Bytes of packed weights; 0 where these kernels pack none. */
static inline size_t ek_gemm_packed(const ek_kernels *kernels, uint32_t n, uint32_t k)
{
    return ek_packed_bytes(kernels->packed_gemm_f32, n, k);
}

static inline void ek_gemm_pack(const ek_kernels *kernels, void *packed, const ek_gemm *g)
{
    kernels->pack_gemm_f32(packed, g->weights, g->n, g->k);
}

static inline void ek_gemm_run(const ek_kernels *kernels, ek_element *out, size_t out_step, const void *a,
                               size_t a_step, size_t rows, const ek_gemm *g)
{
    kernels->gemm_f32(out, out_step, a, a_step, rows, g);
}

static inline void ek_gemm_skip_biases(ek_gemm *g, size_t biases)
{
    if (g->bias) g->bias += biases;
}

/* Goes to what belongs to later channels, but for the weights. */
static inline void ek_gemm_skip(ek_gemm *g, size_t channels)
{
    if (g->bias) g->bias += channels;
}

/* The outputs of an empty sum. */
static inline void ek_gemm_empty(ek_element *out, const ek_gemm *g)
{
    for (size_t j = 0; j < g->n; j++) out[j] = fminf(fmaxf(g->bias ? g->bias[j] : 0.0f, g->min), g->max);
}

#endif
