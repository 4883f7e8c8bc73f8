#include "kernels.h"
#include "requant.h"

void ek_m0_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    const ek_requant *r = &g->requant;
    for (size_t row = 0; row < rows; row++, a += a_step, out += out_step) {
        const uint8_t *w = g->weights;
        int32_t sum = 0;
        for (size_t i = 0; i < g->k; i++) sum += a[i];
        sum *= -128; /* pack.c added 128 to the weights */
        for (size_t j = 0; j < g->n; w += 4 * g->k) {
            int32_t sums[4] = { sum, sum, sum, sum };
            ek_m0_dot_4(a, w, g->k, sums);
            for (size_t i = 0; i < 4 && j < g->n; i++, j++)
                out[j] = ek_m0_requantize((int32_t)((uint32_t)sums[i] + (uint32_t)r->bias[j]), r, j);
        }
    }
}
