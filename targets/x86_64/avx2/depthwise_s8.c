/* depthwise_s8 on vpmaddwd: int16 inputs of two taps are interleaved, 16 channels at a time. The
 * unpacking works per 128-bit lane, so one accumulator holds channels 0-3 and 8-11, the other 4-7
 * and 12-15; vpackssdw puts them in order again. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant.h"

enum { LANES = 16, CHUNK = 64 }; /* CHUNK: taps whose weights are held interleaved at a time */

typedef struct filter {
    __m256i weights[CHUNK / 2][2];
} filter;

EK_INLINE __m256i load(const int8_t *p, size_t n)
{
    return _mm256_cvtepi8_epi16(ek_load_some(p, n));
}

static void filter_prepare(filter *f, const ek_depthwise_s8 *d, uint32_t tap, uint32_t taps, size_t first, size_t n)
{
    const int8_t *w = (const int8_t *)d->weights + (size_t)tap * d->c + first;
    for (uint32_t t = 0; t < taps; t += 2, w += 2 * (size_t)d->c) {
        const __m256i w0 = load(w, n), w1 = t + 1 < taps ? load(w + d->c, n) : _mm256_setzero_si256();
        f->weights[t / 2][0] = _mm256_unpacklo_epi16(w0, w1);
        f->weights[t / 2][1] = _mm256_unpackhi_epi16(w0, w1);
    }
}

EK_INLINE void accumulate(__m256i acc[2], const filter *f, const int8_t *const *taps, size_t at, size_t n,
                          const uint32_t count)
{
    for (uint32_t t = 0; t < count; t += 2) {
        const __m256i x0 = load(taps[t] + at, n), x1 = load(taps[t + 1 < count ? t + 1 : t] + at, n);
        acc[0] = _mm256_add_epi32(acc[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), f->weights[t / 2][0]));
        acc[1] = _mm256_add_epi32(acc[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), f->weights[t / 2][1]));
    }
}

/* One block of up to 16 channels, all pixels. */
EK_INLINE void channels(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                        const ek_depthwise_s8 *d, size_t first, const size_t n)
{
    const ek_output8 o = ek_output_from(d->requant.zero_point, d->requant.qmin, d->requant.qmax);
    const ek_constants16 constants = ek_constants_load(&d->requant, first, n);
    const ek_channels8 lo = ek_channels_pick(&constants, 0, 8), hi = ek_channels_pick(&constants, 4, 12);
    const bool left = ek_any_left(&lo) || ek_any_left(&hi);
    const uint32_t chunk = d->taps < CHUNK ? d->taps : CHUNK;
    filter f;
    filter_prepare(&f, d, 0, chunk, first, n);
    for (size_t p = 0; p < pixels; p++) {
        __m256i acc[2] = { lo.bias, hi.bias };
        accumulate(acc, &f, taps, p * in_step + first, n, chunk);
        for (uint32_t t = CHUNK; t < d->taps; t += CHUNK) { /* rare, and then once per pixel */
            filter more;
            const uint32_t count = d->taps - t < CHUNK ? d->taps - t : CHUNK;
            filter_prepare(&more, d, t, count, first, n);
            accumulate(acc, &more, taps + t, p * in_step + first, n, count);
        }
        const __m256i v = ek_narrow16(ek_scale8(acc[0], &lo, left), ek_scale8(acc[1], &hi, left), &o);
        ek_store_some(out + p * out_step + first, ek_bytes16(v), n);
    }
}

void ek_avx2_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s8 *d)
{
    if (d->c < LANES && d->c != 8) {
        ek_depthwise_s8_ref(out, out_step, taps, in_step, pixels, d);
        return;
    }
    if (d->c == 8) {
        channels(out, out_step, taps, in_step, pixels, d, 0, 8);
        return;
    }
    size_t first = 0;
    for (; first + LANES <= d->c; first += LANES) channels(out, out_step, taps, in_step, pixels, d, first, LANES);
    /* The last block again ends at the last channel, overlapping its neighbour. */
    if (first < d->c) channels(out, out_step, taps, in_step, pixels, d, d->c - LANES, LANES);
}
