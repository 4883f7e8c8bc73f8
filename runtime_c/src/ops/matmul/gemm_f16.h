/* As element_f32.h, and its matrix product, for elements and weights that are stored as float16. They are multiplied
 * and summed as floats, by no kernel of the tables: nothing is packed. The bias is float32. */
#ifndef EK_GEMM_F16_H
#define EK_GEMM_F16_H

#include "clamp_f32.h"
#include "half.h"
#include "ops/heavy_checks.h"

typedef uint16_t ek_element;
typedef uint16_t ek_weight;

#define EK_ELEMENT_DTYPE                  EK_DTYPE_FLOAT16
#define EK_FILL(p)                        0
#define EK_CHECK_TAIL(node, p, biases, n) ((void)(biases), ek_check_float_tail(node, &(p)->requant, n))
#define EK_TABLE(p, biases, n)            EK_TABLE_S8(&(p)->requant, biases, n)
#define EK_TAIL(node, p, biases, n) \
    .bias = ek_bias_f32(node, (p)->requant.table), .min = ek_f32((p)->requant.qmin), .max = ek_f32((p)->requant.qmax)

/* n outputs of k products each. */
typedef struct ek_gemm {
    const void *weights;
    const float *bias; /* [n], or NULL */
    float min, max;
    uint32_t n, k;
} ek_gemm;

enum { EK_BIAS_PER_PHASE = 0, EK_HALF_LANES = 8 };

static inline size_t ek_gemm_rows(const ek_kernels *kernels)
{
    (void)kernels;
    return 1;
}

static inline size_t ek_gemm_packed(const ek_kernels *kernels, uint32_t n, uint32_t k)
{
    (void)kernels, (void)n, (void)k;
    return 0;
}

static inline void ek_gemm_pack(const ek_kernels *kernels, void *packed, const ek_gemm *g)
{
    (void)kernels, (void)packed, (void)g;
}

static inline uint16_t ek_half_clamped(float sum, float min, float max)
{
    return ek_half_of_float(ek_clamp_f32(sum, min, max));
}

/* Sums in lanes, which a compiler may make vectors of. */
static inline float ek_half_product(const uint16_t *a, const uint16_t *w, size_t k)
{
    float lanes[EK_HALF_LANES] = { 0 }, sum = 0;
    size_t i = 0;
    for (; i + EK_HALF_LANES <= k; i += EK_HALF_LANES)
        for (size_t j = 0; j < EK_HALF_LANES; j++) lanes[j] += ek_half_to_float(a[i + j]) * ek_half_to_float(w[i + j]);
    for (; i < k; i++) sum += ek_half_to_float(a[i]) * ek_half_to_float(w[i]);
    for (size_t j = 0; j < EK_HALF_LANES; j++) sum += lanes[j];
    return sum;
}

static inline void ek_gemm_run(const ek_kernels *kernels, ek_element *out, size_t out_step, const void *a,
                               size_t a_step, size_t rows, const ek_gemm *g)
{
    (void)kernels;
    const ek_element *row = a;
    for (size_t r = 0; r < rows; r++, row += a_step, out += out_step) {
        const ek_weight *w = g->weights;
        for (size_t j = 0; j < g->n; j++, w += g->k)
            out[j] = ek_half_clamped(ek_half_product(row, w, g->k) + (g->bias ? g->bias[j] : 0), g->min, g->max);
    }
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
    for (size_t j = 0; j < g->n; j++) out[j] = ek_half_clamped(g->bias ? g->bias[j] : 0, g->min, g->max);
}

#endif
