#include "fixed_point.h"
#include "kernels_ref/reference.h"

/* Sums are unsigned: they wrap the same everywhere, whatever the weights in the file. */
static inline uint32_t gemm_s8_dot(const int8_t *a, const int8_t *w, size_t k)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < k; i++) sum += (uint32_t)(a[i] * w[i]);
    return sum;
}

void ek_gemm_s8_ref(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    const int8_t *weights = g->weights;
    const ek_requant *r = &g->requant;
    for (size_t j = 0; j < g->n; j++) {
        for (size_t row = 0; row < rows; row++) {
            const uint32_t acc = (uint32_t)r->bias[j] + gemm_s8_dot(a + row * a_step, weights + j * g->k, g->k);
            out[row * out_step + j] =
                ek_requantize((int32_t)acc, r->multiplier[j], r->shift[j], r->zero_point, r->qmin, r->qmax);
        }
    }
}
