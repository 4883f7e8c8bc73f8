#include <math.h>

#include "clamp_f32.h"
#include "kernels_ref/reference.h"

#define LANES 8 /* sums side by side, which the compiler may keep in one register */

static inline float gemm_f32_dot(const float *a, const float *w, size_t k)
{
    float lane[LANES] = { 0 }, sum = 0;
    size_t i = 0;
    for (; i + LANES <= k; i += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] += a[i + l] * w[i + l];
    for (; i < k; i++) sum += a[i] * w[i];
    for (size_t l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}

void ek_gemm_f32_ref(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g)
{
    const float *weights = g->weights;
    for (size_t j = 0; j < g->n; j++) {
        const float bias = g->bias ? g->bias[j] : 0.0f;
        for (size_t row = 0; row < rows; row++) {
            const float sum = bias + gemm_f32_dot(a + row * a_step, weights + j * g->k, g->k);
            out[row * out_step + j] = ek_clamp_f32(sum, g->min, g->max);
        }
    }
}
