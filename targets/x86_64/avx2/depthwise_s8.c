/* depthwise_s8 on vpmaddwd: int16 inputs of two taps are interleaved, 16 channels at a time. The
 * unpacking works per 128-bit lane, so one accumulator holds channels 0-3 and 8-11, the other 4-7
 * and 12-15; vpackssdw puts them in order again.
 *
 * Packed: blocks of 16 lanes. If few channels do not fill 16 lanes, lane i of block b is channel
 * (16 b + i) % c, until the blocks start at channel 0 again: where pixels are neighbours, 16 lanes are
 * 16 of their values in a row. Block b of others starts at channel 16 b, the last one such that it ends
 * at the last channel. So does the last one of a cycle of more than 16 channels.
 */
#include "kernels.h"
#include "requant.h"

enum { LANES = 16, PAIR = LANES / 2, MOST = 5 /* blocks of a cycle */ };

/* 2 vectors of interleaved weights for each 2 taps follow. */
typedef struct channels {
    ek_channels8 lo, hi;
    uint32_t left;
} channels;

static size_t cycle_of(uint32_t c)
{
    uint32_t common = LANES;
    while (c % common) common /= 2;
    return c / common;
}

/* Whether a cycle is short, and without one a quarter of the lanes would have no channel. */
static bool is_cycle(uint32_t c)
{
    return cycle_of(c) <= MOST && (c + LANES - 1) / LANES * LANES * 3 >= c * 4;
}

static size_t blocks_of(uint32_t c)
{
    return is_cycle(c) ? cycle_of(c) : ((size_t)c + LANES - 1) / LANES;
}

static size_t block_bytes(uint32_t taps)
{
    return sizeof(channels) + ((size_t)taps + 1) / 2 * 2 * sizeof(__m256i);
}

/* Room for the cycles of fewer channels, too. */
size_t ek_avx2_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    size_t blocks = blocks_of(c);
    for (uint32_t fewer = 1; fewer < c && blocks < MOST; fewer++)
        if (blocks_of(fewer) > blocks) blocks = blocks_of(fewer);
    return blocks * block_bytes(taps);
}

/* The channel in the first lane of block b. */
static size_t first_of(size_t b, uint32_t c)
{
    if (is_cycle(c)) return b * LANES % c;
    if (c < LANES) return 0;
    return (b + 1) * LANES <= c ? b * LANES : c - LANES;
}

static channels pack_channels(const ek_requant *q, size_t first, uint32_t c)
{
    ek_constants16 constants;
    channels to;
    for (size_t i = 0; i < LANES; i++) {
        const size_t at = (first + i) % c;
        constants.bias[i] = q->bias[at];
        constants.multiplier[i] = q->multiplier[at];
        constants.shift[i] = q->shift[at];
    }
    memset(&to, 0, sizeof to);
    to.lo = ek_channels_pick(&constants, 0, 8);
    to.hi = ek_channels_pick(&constants, 4, 12);
    to.left = ek_any_left(&to.lo) || ek_any_left(&to.hi);
    return to;
}

static __m256i pack_tap(const int8_t *w, size_t first, uint32_t c)
{
    int8_t lanes[LANES];
    for (size_t i = 0; i < LANES; i++) lanes[i] = w[(first + i) % c];
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)lanes));
}

void ek_avx2_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    char *to = packed;
    for (size_t b = 0; b < blocks_of(d->c); b++) {
        const size_t first = first_of(b, d->c);
        const channels each = pack_channels(&d->requant, first, d->c);
        const int8_t *w = d->weights;
        memcpy(to, &each, sizeof each);
        to += sizeof each;
        for (uint32_t t = 0; t < d->taps; t += 2, w += 2 * (size_t)d->c, to += 2 * sizeof(__m256i)) {
            const __m256i w0 = pack_tap(w, first, d->c);
            const __m256i w1 = t + 1 < d->taps ? pack_tap(w + d->c, first, d->c) : _mm256_setzero_si256();
            _mm256_storeu_si256((__m256i *)to, _mm256_unpacklo_epi16(w0, w1));
            _mm256_storeu_si256((__m256i *)to + 1, _mm256_unpackhi_epi16(w0, w1));
        }
    }
}

/* A packed block, and where it is needed: at places that are `in_step` and `out_step` apart. */
typedef struct job {
    const char *block;
    const int8_t *const *taps;
    int8_t *out;
    size_t first, in_step, out_step; /* first: the place 0 in every tap and in the output */
    ek_output8 output;
} job;

/* n values; if these are PAIR, and as many that are `beside` apart. */
EK_INLINE __m256i load(const int8_t *p, size_t n, size_t beside)
{
    const __m128i v = ek_load_some(p, n);
    return _mm256_cvtepi8_epi16(n == PAIR ? _mm_unpacklo_epi64(v, ek_load_some(p + beside, n)) : v);
}

EK_INLINE __m128i results(const job *j, const channels *c, size_t place, const size_t n, size_t beside,
                          const size_t taps)
{
    const __m256i_u *w = (const __m256i_u *)(j->block + sizeof *c);
    const size_t at = j->first + place * j->in_step;
    __m256i lo = c->lo.bias, hi = c->hi.bias;
    size_t t = 0;
    for (; t + 2 <= taps; t += 2) {
        const __m256i x0 = load(j->taps[t] + at, n, beside), x1 = load(j->taps[t + 1] + at, n, beside);
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), w[t]));
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), w[t + 1]));
    }
    if (t < taps) { /* beside a weight of 0 */
        const __m256i x = load(j->taps[t] + at, n, beside);
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(_mm256_unpacklo_epi16(x, x), w[t]));
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(_mm256_unpackhi_epi16(x, x), w[t + 1]));
    }
    lo = ek_scale8(lo, &c->lo, c->left != 0);
    hi = ek_scale8(hi, &c->hi, c->left != 0);
    return ek_bytes16(ek_narrow16(lo, hi, &j->output));
}

EK_INLINE int8_t *out_at(const job *j, size_t place)
{
    return j->out + j->first + place * j->out_step;
}

/* n lanes of places [from, to). */
EK_INLINE void places_of(const job *shared, size_t from, size_t to, const size_t n, const size_t taps)
{
    const job j = *shared; /* a copy, which no store changes */
    channels c;
    memcpy(&c, j.block, sizeof c);
    for (size_t p = from; p < to; p++) ek_store_some(out_at(&j, p), results(&j, &c, p, n, 0, taps), n);
}

/* 8 channels of two pixels take the places of 16. */
EK_INLINE void pairs_of(const job *shared, size_t pixels, const size_t taps)
{
    const job j = *shared;
    channels c;
    memcpy(&c, j.block, sizeof c);
    for (size_t p = 0; p < pixels; p += 2) {
        const bool two = p + 1 < pixels;
        const __m128i v = results(&j, &c, p, PAIR, two ? j.in_step : 0, taps);
        ek_store_some(out_at(&j, p), v, PAIR);
        if (two) ek_store_some(out_at(&j, p + 1), _mm_unpackhi_epi64(v, v), PAIR);
    }
}

/* A constant number of taps needs no loop. */
static void places(const job *j, size_t from, size_t to, size_t taps)
{
    if (taps == 9)
        places_of(j, from, to, LANES, 9);
    else
        places_of(j, from, to, LANES, taps);
}

static void pairs(const job *j, size_t pixels, size_t taps)
{
    if (taps == 9)
        pairs_of(j, pixels, 9);
    else
        pairs_of(j, pixels, taps);
}

static const char *block_at(const ek_depthwise_s8 *d, size_t b)
{
    return (const char *)d->weights + b * block_bytes(d->taps);
}

/* Pixels that are neighbours: their values in a row are lanes of a cycle of blocks. */
static void in_a_row(job *j, const ek_depthwise_s8 *d, size_t count)
{
    const size_t blocks = blocks_of(d->c), whole = count / LANES;
    j->in_step = j->out_step = blocks * LANES;
    for (size_t b = 0; b < blocks; b++) {
        j->first = b * LANES;
        if (b > whole) return;
        j->block = block_at(d, b);
        const size_t all = (whole + blocks - 1 - b) / blocks;
        places(j, 0, all, d->taps);
        if (b == whole % blocks && count % LANES) places_of(j, all, all + 1, count % LANES, d->taps);
    }
}

/* Less than 16 channels of pixels that are apart. */
static void few_channels(job *j, const ek_depthwise_s8 *d, size_t pixels)
{
    const size_t whole = ek_pixels_with_room(LANES - d->c, d->c, j->in_step, j->out_step, pixels);
    j->block = block_at(d, 0);
    if (d->c == PAIR) {
        pairs(j, pixels, d->taps);
        return;
    }
    places(j, 0, whole, d->taps);
    places_of(j, whole, pixels, d->c, d->taps);
}

void ek_avx2_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s8 *d)
{
    job j = { .taps = taps,
              .out = out,
              .in_step = in_step,
              .out_step = out_step,
              .output = ek_output_from(d->requant.zero_point, d->requant.qmin, d->requant.qmax) };
    const size_t blocks = blocks_of(d->c);
    if (in_step == d->c && out_step == d->c && is_cycle(d->c)) {
        in_a_row(&j, d, pixels * d->c);
    } else if (d->c < LANES) {
        few_channels(&j, d, pixels);
    } else {
        for (size_t first = 0; first < d->c; first += LANES) {
            const bool fits = first + LANES <= d->c;
            j.block = block_at(d, fits ? first / LANES : blocks - 1);
            j.first = fits ? first : d->c - LANES;
            places(&j, 0, pixels, d->taps);
        }
    }
}
