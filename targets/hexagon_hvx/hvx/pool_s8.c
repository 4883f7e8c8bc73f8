#include "kernels.h"
#include "vectors.h"

enum { ROWS = 256 }; /* 256 int8 always fit an int16 sum */

EK_INLINE size_t at_most(size_t v, size_t most)
{
    return v < most ? v : most;
}

EK_INLINE void add_words(int32_t *acc, HVX_Vector sum, size_t left)
{
    const size_t bytes = 4 * at_most(left, EK_WORDS);
    ek_store_some(acc, Q6_Vw_vadd_VwVw(ek_load_some(acc, bytes), sum), bytes);
}

/* Up to 128 channels of up to ROWS rows. */
static void sum_block(int32_t *acc, const int8_t *in, size_t step, size_t rows, size_t left)
{
    const HVX_Vector one = ek_splat_byte(1);
    HVX_VectorPair sum = Q6_W_vcombine_VV(Q6_V_vzero(), Q6_V_vzero());
    for (size_t i = 0; i < rows; i++, in += step) sum = Q6_Wh_vmpyacc_WhVbVb(sum, ek_load_at(in, left), one);
    const HVX_VectorPair halves = Q6_W_vshuff_VVR(Q6_V_hi_W(sum), Q6_V_lo_W(sum), -2);
    const HVX_VectorPair low = Q6_Ww_vunpack_Vh(Q6_V_lo_W(halves)), high = Q6_Ww_vunpack_Vh(Q6_V_hi_W(halves));
    add_words(acc, Q6_V_lo_W(low), left);
    if (left > 32) add_words(acc + 32, Q6_V_hi_W(low), left - 32);
    if (left > 64) add_words(acc + 64, Q6_V_lo_W(high), left - 64);
    if (left > 96) add_words(acc + 96, Q6_V_hi_W(high), left - 96);
}

void ek_hvx_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t row = 0; row < count; row += ROWS)
        for (size_t j = 0; j < c; j += EK_LINE)
            sum_block(acc + j, in + row * step + j, step, at_most(count - row, ROWS), c - j);
}

void ek_hvx_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t j = 0; j < c; j += EK_LINE) {
        const size_t left = at_most(c - j, EK_LINE);
        HVX_Vector most = ek_load_some(out + j, left);
        for (size_t i = 0; i < count; i++) most = Q6_Vb_vmax_VbVb(most, ek_load_at(in + i * step + j, left));
        ek_store_some(out + j, most, left);
    }
}
