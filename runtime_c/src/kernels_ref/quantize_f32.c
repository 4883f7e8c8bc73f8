/* The only division of the runtime's kernels: whatever others do instead of it gives its bytes. */
#include <float.h>

#include "clamp_f32.h"
#include "reference.h"

#if FLT_EVAL_METHOD != 0
#error "float arithmetic must round to float (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

/* Half to even without libm: at 1.5 * 2^23 a float has no fraction bits, so the addition rounds. */
static float round_small(float x)
{
    const float magic = 12582912.0f;
    return (x + magic) - magic;
}

void ek_quantize_f32_s8_ref(int8_t *q, const float *x, size_t count, float scale, int32_t zero_point)
{
    const float zero = (float)zero_point;
    for (size_t i = 0; i < count; i++) {
        const float v = ek_clamp_f32(x[i] / scale, -512.0f, 512.0f);
        q[i] = (int8_t)ek_clamp_f32((v == v ? round_small(v) : 0.0f) + zero, -128.0f, 127.0f);
    }
}

void ek_quantize_f32_s16_ref(int16_t *q, const float *x, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++) {
        const float v = ek_clamp_f32(x[i] / scale, -32767.0f, 32767.0f);
        q[i] = (int16_t)(v == v ? round_small(v) : 0.0f);
    }
}
