/* Packed weights and their products with gathered rows, of bytes and of int16 alike.
 *
 * Panels are [n / 32][k / 4][32 channels][4 k] of w + 128, padded with zeros to even lines. Up to 16 (8) channels
 * fill a panel two (four) times over, so that lanes of two (four) rows can be merged before they are scaled.
 */
#ifndef EK_HEXAGON_GEMM_PANELS_H
#define EK_HEXAGON_GEMM_PANELS_H

#include "gemm_rows.h"

static size_t panels(uint32_t n)
{
    return ((size_t)n + EK_WORDS - 1) / EK_WORDS;
}
static size_t panel_bytes(uint32_t k)
{
    return ((size_t)k + 7) / 8 * 2 * EK_LINE;
}
/* How often the channels lie in a panel, one copy right after another. */
static uint32_t copies_of(uint32_t n)
{
    return n <= 8 ? 4 : n <= 16 ? 2 : 1;
}

/* Into zeros; panels are `step` bytes apart. */
static void pack_panels(char *first, size_t step, const int8_t *weights, uint32_t n, uint32_t k)
{
    const size_t lanes = (size_t)copies_of(n) * n;
    for (size_t lane = 0; lane < lanes; lane++) {
        uint8_t *const to = (uint8_t *)first + lane / EK_WORDS * step + lane % EK_WORDS * 4;
        const int8_t *const from = weights + lane % n * k;
        for (size_t i = 0; i < k; i++) to[i / 4 * EK_LINE + i % 4] = (uint8_t)(from[i] + 128);
    }
}

/* How gathered rows lie: from one row to the next and from one doubleword of a row to the next, in
 * doublewords; and from offset to offset. */
typedef struct layout {
    int row, next, offset;
} layout;

static const layout INTERLEAVED = { 1, EK_ROWS, 1 };

/* The first n words, again in the lanes that follow. */
EK_INLINE HVX_Vector repeat(HVX_Vector v, uint32_t copies, uint32_t n)
{
    const int32_t bytes = (int32_t)n * 4;
    if (copies == 4) v = Q6_V_vmux_QVV(Q6_Q_vsetq_R(bytes), v, Q6_V_vlalign_VVR(v, v, bytes));
    if (copies == 4) v = Q6_V_vmux_QVV(Q6_Q_vsetq_R(2 * bytes), v, Q6_V_vlalign_VVR(v, v, 2 * bytes));
    if (copies == 2) v = Q6_V_vmux_QVV(Q6_Q_vsetq_R(bytes), v, Q6_V_vlalign_VVR(v, v, bytes));
    return v;
}

EK_INLINE size_t at_most(size_t v, size_t most)
{
    return v < most ? v : most;
}

/* acc += R rows, from `row` on, times C panels. */
EK_INLINE void multiply(HVX_Vector acc[8][4], const ek_rows *x, int row, const layout at, const char *panel,
                        size_t bytes, size_t k, const int R, const int C)
{
    const uint64_t *from = (const uint64_t *)x->line + row * at.row;
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        const HVX_Vector offset = Q6_V_vsplat_R(x->offset[(row + r) * at.offset]);
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) acc[r][c] = Q6_Vw_vadd_VwVw(acc[r][c], offset);
    }
    for (size_t i = 0; i < k; i += 8, from += at.next, panel += 2 * EK_LINE) {
        HVX_Vector low[4], high[4];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            low[c] = ek_line(panel + (size_t)c * bytes);
            high[c] = ek_line(panel + (size_t)c * bytes + EK_LINE);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const uint64_t x8 = from[r * at.row];
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) {
                acc[r][c] = Q6_Vw_vrmpyacc_VwVubRb(acc[r][c], low[c], (int32_t)x8);
                acc[r][c] = Q6_Vw_vrmpyacc_VwVubRb(acc[r][c], high[c], (int32_t)(x8 >> 32));
            }
        }
    }
}

#endif
