/* depthwise_s16 on vpmaddwd: the inputs of two taps are interleaved, 16 channels at a time, as in
 * depthwise_s8.c. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant16.h"

enum { LANES = 16, MOST_TAPS = 64 }; /* whose weights are held interleaved; far fewer than fit int32 */

typedef struct filter {
    __m256i weights[MOST_TAPS / 2][2];
} filter;

static void filter_prepare(filter *f, const ek_depthwise_s16 *d, size_t first)
{
    const int8_t *w = (const int8_t *)d->weights + first;
    for (uint32_t t = 0; t < d->taps; t += 2, w += 2 * (size_t)d->c) {
        const __m256i w0 = _mm256_cvtepi8_epi16(ek_load_some(w, LANES));
        const __m256i w1 =
            t + 1 < d->taps ? _mm256_cvtepi8_epi16(ek_load_some(w + d->c, LANES)) : _mm256_setzero_si256();
        f->weights[t / 2][0] = _mm256_unpacklo_epi16(w0, w1);
        f->weights[t / 2][1] = _mm256_unpackhi_epi16(w0, w1);
    }
}

EK_INLINE __m256i load(const int16_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* 16 channels, all pixels. */
static void channels(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                     const ek_depthwise_s16 *d, size_t first)
{
    const ek_limits16 limits = ek_limits16_from(&d->requant);
    const ek_table16 table = ek_table16_load(&d->requant, first, LANES);
    const ek_wide8 lo = ek_wide8_pick(&table, 0, 8), hi = ek_wide8_pick(&table, 4, 12);
    filter f;
    filter_prepare(&f, d, first);
    for (size_t p = 0; p < pixels; p++) {
        const size_t at = p * in_step + first;
        __m256i acc[2] = { _mm256_setzero_si256(), _mm256_setzero_si256() };
        for (uint32_t t = 0; t < d->taps; t += 2) {
            const __m256i x0 = load(taps[t] + at), x1 = load(taps[t + 1 < d->taps ? t + 1 : t] + at);
            acc[0] = _mm256_add_epi32(acc[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), f.weights[t / 2][0]));
            acc[1] = _mm256_add_epi32(acc[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), f.weights[t / 2][1]));
        }
        const __m256i v =
            _mm256_packs_epi32(ek_scale16_sums(acc[0], &lo, &limits), ek_scale16_sums(acc[1], &hi, &limits));
        _mm256_storeu_si256((__m256i *)(out + p * out_step + first), v);
    }
}

void ek_avx2_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_s16 *d)
{
    if (d->c < LANES || d->taps > MOST_TAPS) {
        ek_depthwise_s16_ref(out, out_step, taps, in_step, pixels, d);
        return;
    }
    size_t first = 0;
    for (; first + LANES <= d->c; first += LANES) channels(out, out_step, taps, in_step, pixels, d, first);
    /* The last block again ends at the last channel, overlapping its neighbour. */
    if (first < d->c) channels(out, out_step, taps, in_step, pixels, d, d->c - LANES);
}
