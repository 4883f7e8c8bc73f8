#include "gemm_rows.h"

typedef struct walk {
    const int8_t *at;        /* of the first row */
    size_t step, left, skip; /* left: of the part; skip: from its end to the next one's start */
    size_t part;
} walk;

EK_INLINE walk walk_from(const ek_source *s, size_t first)
{
    const size_t parts = first ? first / s->part : 0, in = first - parts * s->part;
    return (walk){ s->a + parts * s->part_step + in, s->step, s->part - in, s->part_step - s->part, s->part };
}

EK_INLINE void walk_on(walk *w, size_t elements)
{
    w->at += elements;
    w->left -= elements;
    if (w->left) return;
    w->at += w->skip;
    w->left = w->part;
}

/* old below byte `filled`, the first bytes of x from there on. */
EK_INLINE HVX_Vector append(HVX_Vector old, HVX_Vector x, size_t filled)
{
    return Q6_V_vmux_QVV(Q6_Q_vsetq_R((int32_t)filled), old, Q6_V_vlalign_VVR(x, x, (int32_t)filled));
}

/* The next `columns` (up to 128) of R rows, of which the last ones may be missing. */
EK_INLINE void load_columns(HVX_Vector *v, walk *w, size_t rows, size_t columns, const int R)
{
    for (size_t filled = 0; filled < columns;) {
        const size_t now = columns - filled < w->left ? columns - filled : w->left;
        if (now == EK_LINE) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) v[r] = ek_load(w->at + ((size_t)r < rows ? (size_t)r * w->step : 0));
        } else if (R > 1 && (rows - 1) * w->step + now <= EK_LINE) {
            HVX_Vector x = ek_load_some(w->at, (rows - 1) * w->step + now);
            x = Q6_V_vlalign_VVR(x, x, (int32_t)filled);
            const HVX_VectorPred old = Q6_Q_vsetq_R((int32_t)filled);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                v[r] = Q6_V_vmux_QVV(old, v[r], x);
                x = Q6_V_vror_VR(x, (int32_t)w->step);
            }
        } else {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++)
                v[r] = append(v[r], ek_load_some(w->at + ((size_t)r < rows ? (size_t)r * w->step : 0), now), filled);
        }
        walk_on(w, now);
        filled += now;
    }
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
        const HVX_VectorPair even =
            half ? alternate(Q6_V_hi_W(r04), Q6_V_hi_W(r26)) : alternate(Q6_V_lo_W(r04), Q6_V_lo_W(r26));
        const HVX_VectorPair odd =
            half ? alternate(Q6_V_hi_W(r15), Q6_V_hi_W(r37)) : alternate(Q6_V_lo_W(r15), Q6_V_lo_W(r37));
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

void ek_hvx_gather_rows(ek_rows *to, const ek_source *from, size_t rows, size_t first, size_t k)
{
    const HVX_Vector zero = Q6_V_vzero();
    HVX_Vector sum[EK_ROWS] = { zero, zero, zero, zero, zero, zero, zero, zero };
    HVX_Vector v[EK_ROWS] = { zero, zero, zero, zero, zero, zero, zero, zero };
    HVX_Vector *line = to->line;
    walk w = walk_from(from, first);
    for (size_t left = k; left; line += EK_ROWS) {
        const size_t now = left < EK_LINE ? left : EK_LINE;
        const HVX_Vector one = ek_first_bytes(ek_splat_byte(1), now);
        load_columns(v, &w, rows, now, EK_ROWS);
#pragma GCC unroll 8
        for (int r = 0; r < EK_ROWS; r++) sum[r] = Q6_Vw_vrmpyacc_VwVbVb(sum[r], v[r], one);
        interleave(line, v, now);
        left -= now;
    }
    ek_put_line(to->offset, totals(sum));
}

/* The next `columns` (up to 128) of a row. */
EK_INLINE void split_columns(HVX_Vector *upper, HVX_Vector *lower, const int16_t *a, size_t columns)
{
    const HVX_Vector x = columns < EK_LINE / 2 ? ek_load_some(a, 2 * columns) : ek_load(a);
    const HVX_Vector y = columns > EK_LINE / 2 ? ek_load_some(a + EK_LINE / 2, 2 * columns - EK_LINE) : x;
    *upper = Q6_Vb_vpacko_VhVh(y, x);
    *lower = Q6_V_vxor_VV(Q6_Vb_vpacke_VhVh(y, x), ek_splat_byte(-128));
}

void ek_hvx_gather_rows16(ek_rows *to, const int16_t *a, size_t step, size_t rows, size_t k)
{
    const HVX_Vector zero = Q6_V_vzero();
    HVX_Vector sum[EK_ROWS] = { zero, zero, zero, zero, zero, zero, zero, zero };
    HVX_Vector v[EK_ROWS], *line = to->line;
    for (size_t left = k; left; line += EK_ROWS, a += EK_LINE) {
        const size_t now = left < EK_LINE ? left : EK_LINE;
        const HVX_Vector one = ek_first_bytes(ek_splat_byte(1), now);
#pragma GCC unroll 4
        for (int r = 0; r < EK_ROWS / 2; r++)
            split_columns(&v[2 * r], &v[2 * r + 1], a + ((size_t)r < rows ? (size_t)r * step : 0), now);
#pragma GCC unroll 8
        for (int r = 0; r < EK_ROWS; r++) sum[r] = Q6_Vw_vrmpyacc_VwVbVb(sum[r], v[r], one);
        interleave(line, v, now);
        left -= now;
    }
    ek_put_line(to->offset, totals(sum));
}

void ek_hvx_gather_row(ek_rows *to, const ek_source *from, size_t first, size_t k)
{
    HVX_Vector sum = Q6_V_vzero(), v = sum;
    HVX_Vector *line = to->line;
    walk w = walk_from(from, first);
    for (size_t left = k; left; line++) {
        const size_t now = left < EK_LINE ? left : EK_LINE;
        load_columns(&v, &w, 1, now, 1);
        sum = Q6_Vw_vrmpyacc_VwVbVb(sum, v, ek_first_bytes(ek_splat_byte(1), now));
        ek_put_line(line, v);
        left -= now;
    }
    for (int32_t turn = 4; turn < EK_LINE; turn *= 2) sum = Q6_Vw_vadd_VwVw(sum, Q6_V_vror_VR(sum, turn));
    ek_put_line(to->offset, Q6_Vw_vsub_VwVw(Q6_V_vzero(), Q6_Vw_vasl_VwR(sum, 7)));
}

/* Bytes [first, end) of each slot take the bytes from `base` on, counted from `first`; the others none. */
EK_INLINE HVX_Vector slot_index(HVX_Vector place, HVX_Vector base, size_t first, size_t end)
{
    const HVX_Vector index = Q6_Vb_vadd_VbVb(base, Q6_Vb_vsub_VbVb(place, ek_splat_byte((int32_t)first)));
    const HVX_VectorPred before = Q6_Q_vcmp_gt_VubVub(ek_splat_byte((int32_t)first), place);
    const HVX_VectorPred within = Q6_Q_and_QQn(Q6_Q_vcmp_gt_VubVub(ek_splat_byte((int32_t)end), place), before);
    return Q6_V_vmux_QVV(within, index, ek_splat_byte(-1));
}

void ek_hvx_plan_slots(ek_slots *s, const ek_source *from, size_t k)
{
    HVX_Vector place = Q6_V_vzero(), row = place;
    for (int32_t bit = 1; bit < EK_SLOT; bit *= 2) { /* place: its number within its slot */
        HVX_Vector with = ek_splat_byte(bit);
        with = Q6_Vb_vadd_VbVb(place, with);
        place = Q6_V_vmux_QVV(Q6_Q_vsetq_R(bit), place, Q6_V_vlalign_VVR(with, with, bit));
    }
    for (int32_t filled = EK_SLOT; filled < EK_LINE; filled *= 2)
        place = Q6_V_vmux_QVV(Q6_Q_vsetq_R(filled), place, Q6_V_vlalign_VVR(place, place, filled));
    for (int32_t r = 1; r < 4; r++)
        row = Q6_V_vmux_QVV(Q6_Q_vsetq_R(r * EK_SLOT), row, ek_splat_byte(r * (int32_t)from->step));
    const HVX_Vector later = Q6_Vb_vadd_VbVb(row, ek_splat_byte(4 * (int32_t)from->step));
    s->parts = 0;
    for (size_t at = 0; at < k; at += from->part, s->parts++) {
        const size_t end = at + from->part < k ? at + from->part : k;
        ek_put_line(&s->index[s->parts][0], slot_index(place, row, at, end));
        ek_put_line(&s->index[s->parts][1], slot_index(place, later, at, end));
    }
}
