/* depthwise_s8 on vpmaddwd: int16 inputs of two taps are interleaved, 16 channels at a time. The
 * unpacking works per 128-bit lane, so one accumulator holds channels 0-3 and 8-11, the other 4-7
 * and 12-15; vpackssdw puts them in order again. 8 channels of two pixels take the places of 16. */
#include "kernels.h"
#include "requant.h"

enum { LANES = 16, PAIR = LANES / 2, CHUNK = 64 }; /* CHUNK: taps whose weights are held interleaved at a time */

typedef struct filter {
    __m256i weights[CHUNK / 2][2];
} filter;

/* n channels; if these are PAIR, of two pixels that are `beside` apart. */
EK_INLINE __m256i load(const int8_t *p, size_t n, size_t beside)
{
    const __m128i v = ek_load_some(p, n);
    return _mm256_cvtepi8_epi16(n == PAIR ? _mm_unpacklo_epi64(v, ek_load_some(p + beside, n)) : v);
}

static void filter_prepare(filter *f, const ek_depthwise_s8 *d, uint32_t tap, uint32_t taps, size_t first, size_t n)
{
    const int8_t *w = (const int8_t *)d->weights + (size_t)tap * d->c + first;
    for (uint32_t t = 0; t < taps; t += 2, w += 2 * (size_t)d->c) {
        const __m256i w0 = load(w, n, 0), w1 = t + 1 < taps ? load(w + d->c, n, 0) : _mm256_setzero_si256();
        f->weights[t / 2][0] = _mm256_unpacklo_epi16(w0, w1);
        f->weights[t / 2][1] = _mm256_unpackhi_epi16(w0, w1);
    }
}

EK_INLINE void accumulate(__m256i acc[2], const filter *f, const int8_t *const *taps, size_t at, size_t n,
                          size_t beside, const uint32_t count)
{
    for (uint32_t t = 0; t < count; t += 2) {
        const __m256i x0 = load(taps[t] + at, n, beside);
        const __m256i x1 = load(taps[t + 1 < count ? t + 1 : t] + at, n, beside);
        acc[0] = _mm256_add_epi32(acc[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), f->weights[t / 2][0]));
        acc[1] = _mm256_add_epi32(acc[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), f->weights[t / 2][1]));
    }
}

/* Up to 16 channels of all pixels. */
typedef struct block {
    const ek_depthwise_s8 *d;
    size_t first, n; /* channels */
    ek_channels8 lo, hi;
    ek_output8 output;
    bool left;
    filter filter;
} block;

static void block_prepare(block *b, const ek_depthwise_s8 *d, size_t first, size_t n)
{
    const ek_constants16 constants = ek_constants_load(&d->requant, first, n);
    b->d = d;
    b->first = first;
    b->n = n;
    b->lo = ek_channels_pick(&constants, 0, n == PAIR ? 0 : 8);
    b->hi = ek_channels_pick(&constants, 4, n == PAIR ? 4 : 12);
    b->left = ek_any_left(&b->lo) || ek_any_left(&b->hi);
    b->output = ek_output_from(d->requant.zero_point, d->requant.qmin, d->requant.qmax);
    filter_prepare(&b->filter, d, 0, d->taps < CHUNK ? d->taps : CHUNK, first, n);
}

/* Pixels [from, to), n of 16 lanes of each; `count` is the number of taps, at most CHUNK at a time. */
EK_INLINE void pixels_of(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t from,
                         size_t to, const block *b, const size_t n, const uint32_t count)
{
    for (size_t p = from; p < to; p += n == PAIR ? 2 : 1) {
        const bool two = n == PAIR && p + 1 < to;
        const size_t beside = two ? in_step : 0;
        __m256i acc[2] = { b->lo.bias, b->hi.bias };
        accumulate(acc, &b->filter, taps, p * in_step + b->first, n, beside, count < CHUNK ? count : CHUNK);
        for (uint32_t t = CHUNK; t < count; t += CHUNK) { /* rare, and then once per pixel */
            filter more;
            const uint32_t some = count - t < CHUNK ? count - t : CHUNK;
            filter_prepare(&more, b->d, t, some, b->first, b->n);
            accumulate(acc, &more, taps + t, p * in_step + b->first, n, beside, some);
        }
        const __m128i v =
            ek_bytes16(ek_narrow16(ek_scale8(acc[0], &b->lo, b->left), ek_scale8(acc[1], &b->hi, b->left), &b->output));
        ek_store_some(out + p * out_step + b->first, v, n);
        if (two) ek_store_some(out + (p + 1) * out_step, _mm_unpackhi_epi64(v, v), PAIR);
    }
}

/* A constant number of taps needs no loop. */
EK_INLINE void some_pixels(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t from,
                           size_t to, const block *b, const size_t n)
{
    if (b->d->taps == 9)
        pixels_of(out, out_step, taps, in_step, from, to, b, n, 9);
    else
        pixels_of(out, out_step, taps, in_step, from, to, b, n, b->d->taps);
}

/* Less than 16 channels. All pixels but the last few are read and written with what follows them, which is written
 * again. */
static void few_channels(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d)
{
    const size_t beyond = LANES - d->c;
    size_t whole = 0;
    block b;
    block_prepare(&b, d, 0, d->c);
    if (out_step == d->c && in_step) {
        const size_t step = in_step < out_step ? in_step : out_step, last = (beyond + step - 1) / step;
        whole = pixels > last ? pixels - last : 0;
    }
    some_pixels(out, out_step, taps, in_step, 0, whole, &b, LANES);
    some_pixels(out, out_step, taps, in_step, whole, pixels, &b, d->c);
}

void ek_avx2_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s8 *d)
{
    block b;
    if (d->c == PAIR) {
        block_prepare(&b, d, 0, PAIR);
        some_pixels(out, out_step, taps, in_step, 0, pixels, &b, PAIR);
        return;
    }
    if (d->c < LANES) {
        few_channels(out, out_step, taps, in_step, pixels, d);
        return;
    }
    for (size_t first = 0; first < d->c; first += LANES) {
        /* The last block again ends at the last channel, overlapping its neighbour. */
        block_prepare(&b, d, first + LANES <= d->c ? first : d->c - LANES, LANES);
        some_pixels(out, out_step, taps, in_step, 0, pixels, &b, LANES);
    }
}
