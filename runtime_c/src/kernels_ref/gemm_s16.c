#include "fixed_point.h"
#include "kernels_ref/reference.h"

enum { CHUNK = 256 }; /* products whose sum fits int32 */

static inline int32_t chunk(const int16_t *a, const int8_t *w, size_t count)
{
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += a[i] * w[i];
    return sum;
}

static inline int64_t gemm_s16_dot(int64_t sum, const int16_t *a, const int8_t *w, size_t k)
{
    for (; k > CHUNK; k -= CHUNK, a += CHUNK, w += CHUNK) sum += chunk(a, w, CHUNK);
    return sum + chunk(a, w, k);
}

void ek_gemm_s16_ref(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    const int8_t *weights = g->weights;
    const ek_requant16 *r = &g->requant;
    for (size_t j = 0; j < g->n; j++) {
        for (size_t row = 0; row < rows; row++) {
            const int64_t acc = gemm_s16_dot(r->bias[j], a + row * a_step, weights + j * g->k, g->k);
            out[row * out_step + j] = ek_requantize16(acc, r->multiplier[j], r->shift[j], r->qmin, r->qmax);
        }
    }
}
