/* gemm_s16 on vpmaddwd. The weights are packed as for gemm_s8; sums of 256 products fit int32. */
#include "kernels.h"
#include "requant16.h"

enum { LANES = 16, ROWS = 6, CHUNK = 256 };

typedef struct rows16 {
    const int16_t *a;
    size_t step;
} rows16;

EK_INLINE void add_pair(__m256i sum[2], int32_t pair, __m256i w0, __m256i w1)
{
    const __m256i x = _mm256_set1_epi32(pair);
    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(x, w0));
    sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(x, w1));
}

EK_INLINE __m256i weights(const int8_t *panel)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)panel));
}

/* sums[R][2] of 8 channels each: R rows times `depth` steps of a panel. */
EK_INLINE void multiply(__m256i sums[ROWS][2], rows16 rows, const int8_t *panel, uint32_t depth, const int R)
{
    __m256i sum[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
    uint32_t i = 0;
    for (; i + 2 <= depth; i += 2, panel += 2 * LANES) {
        const __m256i w0 = weights(panel), w1 = weights(panel + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            int32_t pair;
            memcpy(&pair, rows.a + (size_t)r * rows.step + i, sizeof pair);
            add_pair(sum[r], pair, w0, w1);
        }
    }
    if (i < depth) { /* an odd end, against a zero in the panel */
        const __m256i w0 = weights(panel), w1 = weights(panel + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) add_pair(sum[r], (uint16_t)rows.a[(size_t)r * rows.step + i], w0, w1);
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sums[r][0] = sum[r][0], sums[r][1] = sum[r][1];
}

static void multiply_rows(__m256i sums[ROWS][2], rows16 a, const int8_t *panel, uint32_t depth, size_t rows)
{
    switch (rows) {
    case 6: multiply(sums, a, panel, depth, 6); break;
    case 5: multiply(sums, a, panel, depth, 5); break;
    case 4: multiply(sums, a, panel, depth, 4); break;
    case 3: multiply(sums, a, panel, depth, 3); break;
    case 2: multiply(sums, a, panel, depth, 2); break;
    default: multiply(sums, a, panel, depth, 1); break;
    }
}

/* A panel's columns, requantized: lo and hi are interleaved by 4, since vpackssdw works per 128-bit lane. */
EK_INLINE void put(int16_t *out, __m256i lo, __m256i hi, size_t n)
{
    ek_store_some16(out, _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8), n);
}

/* More products than fit int32: sums of chunks are added in 64 bits. */
static void long_panel(int16_t *out, size_t out_step, rows16 a, size_t rows, const int8_t *panel, const ek_gemm_s16 *g,
                       uint32_t j)
{
    const ek_limits16 limits = ek_limits16_from(&g->requant);
    const ek_table16 table = ek_table16_load(&g->requant, j, g->n - j);
    const ek_wide8 lo = ek_wide8_pick(&table, 0, 4), hi = ek_wide8_pick(&table, 8, 12);
    __m256i acc[ROWS][2][2], sums[ROWS][2];
    memset(acc, 0, sizeof acc);
    for (uint32_t i = 0; i < g->k; i += CHUNK) {
        const uint32_t depth = g->k - i < CHUNK ? g->k - i : CHUNK;
        multiply_rows(sums, (rows16){ a.a + i, a.step }, panel + (size_t)i * LANES, depth, rows);
        for (size_t r = 0; r < rows; r++)
            for (int half = 0; half < 2; half++) ek_widen_sums(acc[r][half], sums[r][half]);
    }
    for (size_t r = 0; r < rows; r++)
        put(out + r * out_step + j, ek_scale16_wide(acc[r][0], &lo, &limits), ek_scale16_wide(acc[r][1], &hi, &limits),
            g->n - j);
}

static void short_panel(int16_t *out, size_t out_step, rows16 a, size_t rows, const int8_t *panel, const ek_gemm_s16 *g,
                        uint32_t j)
{
    const ek_limits16 limits = ek_limits16_from(&g->requant);
    const ek_table16 table = ek_table16_load(&g->requant, j, g->n - j);
    const ek_wide8 lo = ek_wide8_pick(&table, 0, 4), hi = ek_wide8_pick(&table, 8, 12);
    __m256i sums[ROWS][2];
    for (size_t r = 0; r < rows; r += ROWS) {
        const size_t some = rows - r < ROWS ? rows - r : ROWS;
        multiply_rows(sums, (rows16){ a.a + r * a.step, a.step }, panel, g->k, some);
        for (size_t i = 0; i < some; i++)
            put(out + (r + i) * out_step + j, ek_scale16_sums(sums[i][0], &lo, &limits),
                ek_scale16_sums(sums[i][1], &hi, &limits), g->n - j);
    }
}

void ek_avx2_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    const size_t panel_bytes = ek_avx2_packed_gemm_s8(1, g->k);
    const int8_t *panel = g->weights;
    for (uint32_t j = 0; j < g->n; j += LANES, panel += panel_bytes) {
        if (g->k <= CHUNK) {
            short_panel(out, out_step, (rows16){ a, a_step }, rows, panel, g, j);
            continue;
        }
        for (size_t r = 0; r < rows; r += ROWS)
            long_panel(out + r * out_step, out_step, (rows16){ a + r * a_step, a_step },
                       rows - r < ROWS ? rows - r : ROWS, panel, g, j);
    }
}
