/* gemm_s8 on vpmaddwd: both sides as int16, so no sum of a pair can saturate (vpmaddubsw's can).
 * Packed: panels [n / 16][k / 2][16 channels][2 k], padded with zeros. */
#include "kernels.h"
#include "requant.h"

enum {
    LANES = 16,
    PANELS = 4, /* whose constants are held */
    ROWS = 6,
    DEPTH = 1152 /* activations of a row that are widened at a time: 3 x 3 of 128 channels */
};

static size_t panel_bytes(uint32_t k)
{
    return ((size_t)k + 1) / 2 * 2 * LANES;
}

size_t ek_avx2_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return ((size_t)n + LANES - 1) / LANES * panel_bytes(k);
}

void ek_avx2_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    (void)bias;
    memset(packed, 0, ek_avx2_packed_gemm_s8(n, k));
    for (uint32_t j = 0; j < n; j++) {
        int8_t *const to = (int8_t *)packed + j / LANES * panel_bytes(k) + j % LANES * 2;
        for (uint32_t i = 0; i < k; i++) to[i / 2 * 2 * LANES + i % 2] = weights[(size_t)j * k + i];
    }
}

/* Rows as int16, an odd end filled with a zero. */
typedef int16_t wide_rows[ROWS][DEPTH];

EK_INLINE void widen16(int16_t *to, const int8_t *a)
{
    _mm256_storeu_si256((__m256i *)to, _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)a)));
}

EK_INLINE void widen(wide_rows wide, const int8_t *a, size_t a_step, size_t rows, uint32_t depth)
{
    for (size_t r = 0; r < rows; r++, a += a_step) {
        int16_t *const to = wide[r];
        for (uint32_t i = 0; i + 16 <= depth; i += 16) widen16(to + i, a + i);
        if (depth < 16) {
            _mm256_storeu_si256((__m256i *)to, _mm256_cvtepi8_epi16(ek_load_some(a, depth)));
        } else if (depth % 16) {
            widen16(to + depth - 16, a + depth - 16); /* some of them once more */
        }
        if (depth % 2) to[depth] = 0;
    }
}

/* acc[R][H] of 8 channels each, += the widened rows times the first H halves of a panel. */
EK_INLINE void multiply(__m256i acc[ROWS][2], const wide_rows wide, const int8_t *panel, uint32_t depth, const int R,
                        const int H)
{
    __m256i sum[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sum[r][0] = acc[r][0], sum[r][1] = acc[r][1];
    for (size_t i = 0; i < depth; i += 2, panel += 2 * LANES) {
        const __m256i w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)panel));
        const __m256i w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(panel + LANES)));
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            int32_t pair;
            memcpy(&pair, wide[r] + i, sizeof pair);
            const __m256i x = _mm256_set1_epi32(pair);
            sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(x, w0));
            if (H == 2) sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(x, w1));
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) acc[r][0] = sum[r][0], acc[r][1] = sum[r][1];
}

/* Up to PANELS panels: their constants are set up once for all rows. */
typedef struct columns {
    const int8_t *panel;
    size_t panel_bytes;
    uint32_t k, n;
    bool any_left;
    ek_channels8 channels[PANELS][2];
    ek_output8 output;
} columns;

/* R rows of the channels from `at` on: of 16, or with H == 1 of 8 at most. */
EK_INLINE void tile(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, wide_rows wide,
                    uint32_t at, const int R, const int H)
{
    const int8_t *const panel = w->panel + at / LANES * w->panel_bytes;
    const ek_channels8 *const lo = &w->channels[at / LANES][0], *const hi = &w->channels[at / LANES][1];
    __m256i acc[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) acc[r][0] = lo->bias, acc[r][1] = hi->bias;
    for (uint32_t i = 0; i < w->k; i += DEPTH) {
        const uint32_t depth = w->k - i < DEPTH ? w->k - i : DEPTH;
        if (w->k > DEPTH) widen(wide, a + i, a_step, (size_t)R, depth);
        multiply(acc, wide, panel + (size_t)i * LANES, depth, R, H);
    }
    __m128i bytes[ROWS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) {
        const __m256i low = ek_scale8(acc[r][0], lo, w->any_left);
        const __m256i v = ek_narrow16(low, H == 2 ? ek_scale8(acc[r][1], hi, w->any_left) : low, &w->output);
        /* vpackssdw worked per lane: lo and hi are interleaved by 4. */
        bytes[r] = ek_bytes16(_mm256_permute4x64_epi64(v, 0xd8));
    }
    /* After all of that: the compiler has to assume that a store changes what is read. */
    const size_t n = w->n - at;
    out += at;
    if (n >= LANES) {
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) _mm_storeu_si128((__m128i *)(out + (size_t)r * out_step), bytes[r]);
    } else {
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) ek_store_some(out + (size_t)r * out_step, bytes[r], n);
    }
}

EK_INLINE void stripe(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R)
{
    wide_rows wide;
    if (w->k <= DEPTH) widen(wide, a, a_step, (size_t)R, w->k);
    uint32_t at = 0;
    for (; at + LANES / 2 < w->n; at += LANES) tile(out, out_step, a, a_step, w, wide, at, R, 2);
    if (at < w->n) tile(out, out_step, a, a_step, w, wide, at, R, 1);
}

static void all_rows(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const columns *w)
{
    for (; rows >= ROWS; rows -= ROWS, a += ROWS * a_step, out += ROWS * out_step)
        stripe(out, out_step, a, a_step, w, ROWS);
    switch (rows) {
    case 5: stripe(out, out_step, a, a_step, w, 5); break;
    case 4: stripe(out, out_step, a, a_step, w, 4); break;
    case 3: stripe(out, out_step, a, a_step, w, 3); break;
    case 2: stripe(out, out_step, a, a_step, w, 2); break;
    case 1: stripe(out, out_step, a, a_step, w, 1); break;
    default: break;
    }
}

void ek_avx2_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    columns w = { .panel = g->weights,
                  .panel_bytes = panel_bytes(g->k),
                  .k = g->k,
                  .output = ek_output_from(g->requant.zero_point, g->requant.qmin, g->requant.qmax) };

    for (uint32_t first = 0; first < g->n; first += PANELS * LANES, w.panel += PANELS * w.panel_bytes) {
        w.n = g->n - first < PANELS * LANES ? g->n - first : PANELS * LANES;
        w.any_left = false;
        for (uint32_t j = 0; j < w.n; j += LANES) {
            const ek_constants16 constants = ek_constants_load(&g->requant, first + j, w.n - j);
            ek_channels8 *const lo = &w.channels[j / LANES][0], *const hi = &w.channels[j / LANES][1];
            *lo = ek_channels_pick(&constants, 0, 4);
            *hi = ek_channels_pick(&constants, 8, 12);
            w.any_left = w.any_left || ek_any_left(lo) || ek_any_left(hi);
        }
        all_rows(out + first, out_step, a, a_step, rows, &w);
    }
}
