/* gemm_s8 on vpdpbusd. Its first operand is unsigned, so activations go in as x + 128 (one xor), and
 * 128 times the sum of a channel's weights comes off the bias.
 *
 * Packed: a header with where the rest starts (64-byte aligned if memory stays where it was packed),
 * int32 correction per channel, then panels [n / 16][k / 4][16 channels][4 k], padded with zeros.
 */
#include <string.h>

#include "kernels.h"
#include "requant.h"

enum { LANES = 16, HEADER = EK_PACKED_HEADER, LINE = EK_PACKED_LINE };

static size_t panels(uint32_t n)
{
    return ((size_t)n + LANES - 1) / LANES;
}
static size_t panel_bytes(uint32_t k)
{
    return ((size_t)k + 3) / 4 * LINE;
}

size_t ek_avx512_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return HEADER + (LINE - HEADER) + panels(n) * (LINE + panel_bytes(k));
}

void ek_avx512_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    (void)bias; /* added at run time: it costs one instruction for 16 channels of a call */
    const uint32_t start = HEADER + (uint32_t)(-((uintptr_t)packed + HEADER) % LINE);
    memset(packed, 0, ek_avx512_packed_gemm_s8(n, k));
    memcpy(packed, &start, sizeof start);
    int32_t *const correction = (int32_t *)((char *)packed + start);
    int8_t *const panel = (int8_t *)(correction + panels(n) * LANES);
    for (uint32_t j = 0; j < n; j++) {
        int8_t *const to = panel + j / LANES * panel_bytes(k) + j % LANES * 4;
        const int8_t *const from = weights + (size_t)j * k;
        int32_t sum = 0;
        for (uint32_t i = 0; i < k; i++) {
            to[i / 4 * LINE + i % 4] = from[i];
            sum += from[i];
        }
        correction[j] = -128 * sum;
    }
}

typedef struct columns {
    const int8_t *panel;
    size_t panel_bytes;
    uint32_t k;
    bool any_left, dense; /* dense: all channels of the panels exist, and rows of them are neighbours */
    __mmask64 exist;
    ek_channels16 channels[4];
    ek_output16 output;
} columns;

EK_INLINE int32_t load4(const int8_t *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* The last k % 4 activations of a row, without reading past it. */
EK_INLINE int32_t load_tail(const int8_t *row, uint32_t k)
{
    const uint32_t left = k % 4;
    if (k >= 4) return (int32_t)((uint32_t)load4(row + k - 4) >> (8 * (4 - left)));
    int32_t v = 0;
    memcpy(&v, row, left);
    return v;
}

/* Requantizes as many rows as fill a vector (4 of 1 panel, 2 of 2, else 1), or `rows` if fewer. */
EK_INLINE void store_rows(int8_t *out, size_t out_step, const __m512i acc[][4], const columns *w, const int rows,
                          const int C)
{
    const int width = C == 3 ? 4 : C;
    __m512i s[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int r = i / width, c = i % width;
        s[i] = r < rows && c < C ? ek_scale16(acc[r][c], &w->channels[c], w->any_left) : _mm512_setzero_si512();
    }
    const __m512i q = ek_in_order64(ek_narrow64(s[0], s[1], s[2], s[3], &w->output));
    if (width == 4) {
        _mm512_mask_storeu_epi8(out, w->exist, q);
    } else if (rows * width >= 4 && w->dense) {
        _mm512_storeu_si512(out, q);
    } else if (width == 2) {
        _mm256_mask_storeu_epi8(out, (__mmask32)w->exist, _mm512_castsi512_si256(q));
        if (rows > 1) _mm256_mask_storeu_epi8(out + out_step, (__mmask32)w->exist, _mm512_extracti64x4_epi64(q, 1));
    } else {
        const __mmask16 exist = (__mmask16)w->exist;
        _mm_mask_storeu_epi8(out, exist, _mm512_castsi512_si128(q));
        if (rows > 1) _mm_mask_storeu_epi8(out + out_step, exist, _mm512_extracti32x4_epi32(q, 1));
        if (rows > 2) _mm_mask_storeu_epi8(out + 2 * out_step, exist, _mm512_extracti32x4_epi32(q, 2));
        if (rows > 3) _mm_mask_storeu_epi8(out + 3 * out_step, exist, _mm512_extracti32x4_epi32(q, 3));
    }
}

/* R rows by C panels. */
EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    const __m512i flip = _mm512_set1_epi8(INT8_MIN);
    __m512i acc[8][4];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) acc[r][c] = w->channels[c].bias;

    const int8_t *panel = w->panel;
    const uint32_t whole = w->k & ~3u;
    for (uint32_t i = 0; i < whole; i += 4, panel += LINE) {
        __m512i v[4];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) v[c] = _mm512_loadu_si512(panel + (size_t)c * w->panel_bytes);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const __m512i x = _mm512_xor_si512(_mm512_set1_epi32(load4(a + (size_t)r * a_step + i)), flip);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], x, v[c]);
        }
    }
    if (w->k % 4) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const __m512i x = _mm512_xor_si512(_mm512_set1_epi32(load_tail(a + (size_t)r * a_step, w->k)), flip);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++)
                acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], x, _mm512_loadu_si512(panel + (size_t)c * w->panel_bytes));
        }
    }
    const int together = C == 1 ? 4 : C == 2 ? 2 : 1;
#pragma GCC unroll 8
    for (int r = 0; r < R; r += together) store_rows(out + (size_t)r * out_step, out_step, acc + r, w, R - r, C);
}

#define ELEMENT int8_t
#include "gemm_stripes.h"

void ek_avx512_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    const size_t start = ek_packed_start(g->weights);
    const int32_t *const correction = (const int32_t *)((const char *)g->weights + start);
    columns w = { .panel = (const int8_t *)(correction + panels(g->n) * LANES),
                  .panel_bytes = panel_bytes(g->k),
                  .k = g->k,
                  .output = ek_output_from(g->requant.zero_point, g->requant.qmin, g->requant.qmax) };

    for (uint32_t first = 0; first < g->n; first += 4 * LANES) {
        const uint32_t n = g->n - first < 4 * LANES ? g->n - first : 4 * LANES;
        const uint32_t count = (n + LANES - 1) / LANES;
        w.exist = ek_mask64(n);
        w.dense = out_step == n && n == count * LANES;
        w.any_left = false;
        for (uint32_t c = 0; c < count; c++) {
            const uint32_t j = first + c * LANES;
            w.channels[c] = ek_channels_load(&g->requant, j, ek_mask16(g->n - j));
            w.channels[c].bias = _mm512_add_epi32(w.channels[c].bias, _mm512_loadu_si512(correction + j));
            w.any_left = w.any_left || ek_any_left(&w.channels[c]);
        }
        stripes[count - 1](out + first, out_step, a, a_step, rows, &w);
        w.panel += 4 * w.panel_bytes;
    }
}
