#include "gemm_rows.h"

EK_INLINE HVX_Vector load_columns(const int8_t *p, size_t left)
{
    return left >= EK_LINE ? ek_load(p) : ek_first_bytes(ek_load_some(p, left), left);
}

/* Doublewords of low and high alternate over the 256 bytes of the result. */
EK_INLINE HVX_VectorPair alternate(HVX_Vector low, HVX_Vector high)
{
    return Q6_W_vshuff_VVR(high, low, -8);
}

/* Columns of eight rows, column after column, of which each is a doubleword. */
EK_INLINE void interleave(HVX_Vector *to, const HVX_Vector v[EK_ROWS], size_t left)
{
    const HVX_VectorPair r04 = alternate(v[0], v[4]), r15 = alternate(v[1], v[5]);
    const HVX_VectorPair r26 = alternate(v[2], v[6]), r37 = alternate(v[3], v[7]);
    for (int half = 0; half < 2; half++) {
        const HVX_VectorPair even = half ? alternate(Q6_V_hi_W(r04), Q6_V_hi_W(r26))
                                         : alternate(Q6_V_lo_W(r04), Q6_V_lo_W(r26));
        const HVX_VectorPair odd = half ? alternate(Q6_V_hi_W(r15), Q6_V_hi_W(r37))
                                        : alternate(Q6_V_lo_W(r15), Q6_V_lo_W(r37));
        const HVX_VectorPair a = alternate(Q6_V_lo_W(even), Q6_V_lo_W(odd));
        ek_put_line(to, Q6_V_lo_W(a));
        ek_put_line(to + 1, Q6_V_hi_W(a));
        if (left > 32) {
            const HVX_VectorPair b = alternate(Q6_V_hi_W(even), Q6_V_hi_W(odd));
            ek_put_line(to + 2, Q6_V_lo_W(b));
            ek_put_line(to + 3, Q6_V_hi_W(b));
        }
        if (left <= 64) return;
        to += 4;
        left -= 64;
    }
}

EK_INLINE HVX_Vector sum_pairs(HVX_Vector a, HVX_Vector b, int32_t block)
{
    const HVX_VectorPair w = Q6_W_vshuff_VVR(b, a, block);
    return Q6_Vw_vadd_VwVw(Q6_V_lo_W(w), Q6_V_hi_W(w));
}

/* Lane j is the sum of all lanes of sum[j % 8], times -128. */
EK_INLINE HVX_Vector totals(const HVX_Vector sum[EK_ROWS])
{
    const HVX_Vector s03 = sum_pairs(sum_pairs(sum[0], sum[1], -4), sum_pairs(sum[2], sum[3], -4), -8);
    const HVX_Vector s47 = sum_pairs(sum_pairs(sum[4], sum[5], -4), sum_pairs(sum[6], sum[7], -4), -8);
    HVX_Vector s = sum_pairs(s03, s47, -16);
    s = Q6_Vw_vadd_VwVw(s, Q6_V_vror_VR(s, 32));
    s = Q6_Vw_vadd_VwVw(s, Q6_V_vror_VR(s, 64));
    return Q6_Vw_vsub_VwVw(Q6_V_vzero(), Q6_Vw_vasl_VwR(s, 7));
}

void ek_hvx_gather_rows(ek_rows *to, const int8_t *a, size_t a_step, size_t rows, size_t k)
{
    const HVX_Vector one = ek_splat_byte(1), zero = Q6_V_vzero();
    HVX_Vector sum[EK_ROWS] = { zero, zero, zero, zero, zero, zero, zero, zero };
    HVX_Vector *line = to->line;
    for (size_t at = 0; at < k; at += EK_LINE, line += EK_ROWS) {
        HVX_Vector v[EK_ROWS];
        for (size_t r = 0; r < EK_ROWS; r++) {
            v[r] = r < rows ? load_columns(a + r * a_step + at, k - at) : zero;
            sum[r] = Q6_Vw_vrmpyacc_VwVbVb(sum[r], v[r], one);
        }
        interleave(line, v, k - at);
    }
    ek_put_line(to->offset, totals(sum));
}

void ek_hvx_gather_row(ek_rows *to, const int8_t *a, size_t k)
{
    const HVX_Vector one = ek_splat_byte(1);
    HVX_Vector sum = Q6_V_vzero();
    HVX_Vector *line = to->line;
    for (size_t at = 0; at < k; at += EK_LINE, line++) {
        const HVX_Vector v = load_columns(a + at, k - at);
        sum = Q6_Vw_vrmpyacc_VwVbVb(sum, v, one);
        ek_put_line(line, v);
    }
    for (int32_t turn = 4; turn < EK_LINE; turn *= 2) sum = Q6_Vw_vadd_VwVw(sum, Q6_V_vror_VR(sum, turn));
    ek_put_line(to->offset, Q6_Vw_vsub_VwVw(Q6_V_vzero(), Q6_Vw_vasl_VwR(sum, 7)));
}
