/* depthwise_s16 on vpmaddwd: the inputs of two taps are interleaved, 16 channels at a time, as in
 * depthwise_s8.c. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant16.h"

enum { LANES = 16, MOST_TAPS = 64 }; /* whose weights are held interleaved; far fewer than fit int32 */

/* Up to 16 channels of all pixels. */
typedef struct block {
    const int16_t *const *taps;
    int16_t *out;
    size_t in_step, out_step, first;
    ek_limits16 limits;
    ek_wide8 lo, hi;
    __m256i weights[MOST_TAPS];
} block;

static void block_prepare(block *b, const ek_depthwise_s16 *d, size_t first, size_t n)
{
    const int8_t *w = (const int8_t *)d->weights + first;
    const ek_table16 table = ek_table16_load(&d->requant, first, n);
    b->first = first;
    b->lo = ek_wide8_pick(&table, 0, 8);
    b->hi = ek_wide8_pick(&table, 4, 12);
    for (uint32_t t = 0; t < d->taps; t += 2, w += 2 * (size_t)d->c) {
        const __m256i w0 = _mm256_cvtepi8_epi16(ek_load_some(w, n));
        const __m256i w1 = t + 1 < d->taps ? _mm256_cvtepi8_epi16(ek_load_some(w + d->c, n)) : _mm256_setzero_si256();
        b->weights[t] = _mm256_unpacklo_epi16(w0, w1);
        b->weights[t + 1] = _mm256_unpackhi_epi16(w0, w1);
    }
}

/* n channels of pixels [from, to). */
EK_INLINE void pixels_of(const block *b, size_t from, size_t to, const size_t n, const size_t taps)
{
    for (size_t p = from; p < to; p++) {
        const size_t at = p * b->in_step + b->first;
        __m256i lo = _mm256_setzero_si256(), hi = _mm256_setzero_si256();
        size_t t = 0;
        for (; t + 2 <= taps; t += 2) {
            const __m256i x0 = ek_load_some16(b->taps[t] + at, n), x1 = ek_load_some16(b->taps[t + 1] + at, n);
            lo = _mm256_add_epi32(lo, _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), b->weights[t]));
            hi = _mm256_add_epi32(hi, _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), b->weights[t + 1]));
        }
        if (t < taps) { /* beside a weight of 0 */
            const __m256i x = ek_load_some16(b->taps[t] + at, n);
            lo = _mm256_add_epi32(lo, _mm256_madd_epi16(_mm256_unpacklo_epi16(x, x), b->weights[t]));
            hi = _mm256_add_epi32(hi, _mm256_madd_epi16(_mm256_unpackhi_epi16(x, x), b->weights[t + 1]));
        }
        const __m256i v =
            _mm256_packs_epi32(ek_scale16_sums(lo, &b->lo, &b->limits), ek_scale16_sums(hi, &b->hi, &b->limits));
        ek_store_some16(b->out + p * b->out_step + b->first, v, n);
    }
}

/* A constant number of taps needs no loop. */
static void whole_pixels(const block *b, size_t from, size_t to, size_t taps)
{
    if (taps == 9)
        pixels_of(b, from, to, LANES, 9);
    else
        pixels_of(b, from, to, LANES, taps);
}

void ek_avx2_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_s16 *d)
{
    block b = { .taps = taps,
                .out = out,
                .in_step = in_step,
                .out_step = out_step,
                .limits = ek_limits16_from(d->requant.qmin, d->requant.qmax) };
    if (d->taps > MOST_TAPS) {
        ek_depthwise_s16_ref(out, out_step, taps, in_step, pixels, d);
    } else if (d->c < LANES) {
        const size_t whole = ek_pixels_with_room(LANES - d->c, d->c, in_step, out_step, pixels);
        block_prepare(&b, d, 0, d->c);
        whole_pixels(&b, 0, whole, d->taps);
        pixels_of(&b, whole, pixels, d->c, d->taps);
    } else {
        for (size_t first = 0; first < d->c; first += LANES) {
            /* The last block again ends at the last channel, overlapping its neighbour. */
            block_prepare(&b, d, first + LANES <= d->c ? first : d->c - LANES, LANES);
            whole_pixels(&b, 0, pixels, d->taps);
        }
    }
}
