/* gemm_s16 by panels of 16 columns, packed as by ek_avx2_pack_gemm_s8, for the files that define ROWS and,
 * before this, the sums of up to ROWS rows, in halves of 8 channels, of which the second is not needed unless `whole`:
 *     static void multiply_rows(__m256i sums[ROWS][2], rows16 a, const int8_t *panel, uint32_t depth, size_t rows,
 *                               bool whole)
 */

/* A panel's columns, requantized: lo and hi are interleaved by 4, since vpackssdw works per 128-bit lane. */
EK_INLINE void put(int16_t *out, __m256i lo, __m256i hi, size_t n)
{
    ek_store_some16(out, _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8), n);
}

/* More products than fit int32: sums of chunks are added in 64 bits. */
static void long_panel(int16_t *out, size_t out_step, rows16 a, size_t rows, const int8_t *panel, const ek_gemm_s16 *g,
                       uint32_t j)
{
    const ek_limits16 limits = ek_limits16_from(g->requant.qmin, g->requant.qmax);
    const ek_table16 table = ek_table16_load(&g->requant, j, g->n - j);
    const ek_wide8 ratios[2] = { ek_wide8_pick(&table, 0, 4), ek_wide8_pick(&table, 8, 12) };
    const size_t n = g->n - j, halves = n > LANES / 2 ? 2 : 1;
    __m256i acc[ROWS][2][2], sums[ROWS][2];
    memset(acc, 0, sizeof acc);
    for (uint32_t i = 0; i < g->k; i += CHUNK) {
        const uint32_t depth = g->k - i < CHUNK ? g->k - i : CHUNK;
        multiply_rows(sums, (rows16){ a.a + i, a.step }, panel + (size_t)i * LANES, depth, rows, halves == 2);
        for (size_t r = 0; r < rows; r++)
            for (size_t half = 0; half < halves; half++) ek_widen_sums(acc[r][half], sums[r][half]);
    }
    for (size_t r = 0; r < rows; r++) {
        const __m256i low = ek_scale16_wide(acc[r][0], &ratios[0], &limits);
        put(out + r * out_step + j, low, halves == 2 ? ek_scale16_wide(acc[r][1], &ratios[1], &limits) : low, n);
    }
}

static void short_panel(int16_t *out, size_t out_step, rows16 a, size_t rows, const int8_t *panel, const ek_gemm_s16 *g,
                        uint32_t j)
{
    const ek_limits16 limits = ek_limits16_from(g->requant.qmin, g->requant.qmax);
    const ek_table16 table = ek_table16_load(&g->requant, j, g->n - j);
    const ek_wide8 lo = ek_wide8_pick(&table, 0, 4), hi = ek_wide8_pick(&table, 8, 12);
    const size_t n = g->n - j;
    const bool whole = n > LANES / 2;
    __m256i sums[ROWS][2];
    for (size_t r = 0; r < rows; r += ROWS) {
        const size_t some = rows - r < ROWS ? rows - r : ROWS;
        multiply_rows(sums, (rows16){ a.a + r * a.step, a.step }, panel, g->k, some, whole);
        for (size_t i = 0; i < some; i++) {
            const __m256i low = ek_scale16_sums(sums[i][0], &lo, &limits);
            put(out + (r + i) * out_step + j, low, whole ? ek_scale16_sums(sums[i][1], &hi, &limits) : low, n);
        }
    }
}

EK_INLINE void gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows,
                        const ek_gemm_s16 *g)
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
