/* depthwise_s8 on vpdpbusd: bytes of four taps are interleaved, so that one dword holds the four
 * inputs of a channel. Inputs go in as x + 128 (one xor); the bias is corrected for it.
 *
 * A vector has 64 slots. Blocks of few channels put several pixels in one vector, lane by lane:
 * slot s is channel s % width of pixel s / width, in the order of a dense tensor when the steps
 * equal the channels.
 *
 * Packed: a header, then a block of channels after another, 64-byte aligned if memory stays where it
 * was packed.
 */
#include <string.h>

#include "kernels.h"
#include "requant.h"

enum { SLOTS = 64, HEADER = EK_PACKED_HEADER, LINE = EK_PACKED_LINE };

typedef enum mode { DENSE, WIDE, HALF, QUARTER } mode;

typedef struct header {
    uint32_t start, any_left;
} header;

/* Up to 64 channels; the weights of 4 taps make 4 vectors. */
typedef struct channels {
    ek_channels16 each[4];
    __m512i_u weights[][4];
} channels;

static size_t block_bytes(uint32_t taps)
{
    return sizeof(channels) + ((size_t)taps + 3) / 4 * 4 * LINE;
}

size_t ek_avx512_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    return HEADER + (LINE - HEADER) + ((size_t)c + SLOTS - 1) / SLOTS * block_bytes(taps);
}

/* Slots from pixel to pixel for a block of `count` channels. */
static size_t width_of(size_t count)
{
    return count == 8 ? 8 : count <= 16 ? 16 : count <= 32 ? 32 : 64;
}

/* Interleaved vector i holds, per lane, the slots 4i .. 4i + 3. */
EK_INLINE void interleave(__m512i v[4], __m512i x0, __m512i x1, __m512i x2, __m512i x3)
{
    const __m512i lo01 = _mm512_unpacklo_epi8(x0, x1), hi01 = _mm512_unpackhi_epi8(x0, x1);
    const __m512i lo23 = _mm512_unpacklo_epi8(x2, x3), hi23 = _mm512_unpackhi_epi8(x2, x3);
    v[0] = _mm512_unpacklo_epi16(lo01, lo23);
    v[1] = _mm512_unpackhi_epi16(lo01, lo23);
    v[2] = _mm512_unpacklo_epi16(hi01, hi23);
    v[3] = _mm512_unpackhi_epi16(hi01, hi23);
}

/* The same of one tap: the other three are 0. */
EK_INLINE void spread(__m512i v[4], __m512i x)
{
    const __m512i first = _mm512_set4_epi32(3, 2, 1, 0), rest = _mm512_set1_epi32((int32_t)0x80808000);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = _mm512_shuffle_epi8(x, _mm512_or_si512(_mm512_add_epi32(first, _mm512_set1_epi32(4 * i)), rest));
}

static __m512i load_weights(const int8_t *w, size_t count)
{
    switch (width_of(count)) {
    case 8: return _mm512_broadcastq_epi64(_mm_maskz_loadu_epi8(0xff, w));
    case 16: return _mm512_broadcast_i32x4(_mm_maskz_loadu_epi8(ek_mask16(count), w));
    case 32: return _mm512_broadcast_i64x4(_mm256_maskz_loadu_epi8((__mmask32)ek_mask64(count), w));
    default: return _mm512_maskz_loadu_epi8(ek_mask64(count), w);
    }
}

/* Interleaves the weights of channels first .. first + count - 1 and corrects the bias. */
static void pack_weights(channels *c, const ek_depthwise_s8 *d, size_t first, size_t count)
{
    const __m512i ones = _mm512_set1_epi8(1), zero = _mm512_setzero_si512();
    __m512i sum[4] = { zero, zero, zero, zero };
    const int8_t *w = (const int8_t *)d->weights + first;
    for (uint32_t t = 0; t < d->taps; t += 4) {
        __m512i x[4] = { zero, zero, zero, zero }, v[4];
        for (uint32_t i = 0; i < 4 && t + i < d->taps; i++, w += d->c) x[i] = load_weights(w, count);
        interleave(v, x[0], x[1], x[2], x[3]);
        for (int i = 0; i < 4; i++) {
            _mm512_storeu_si512(&c->weights[t / 4][i], v[i]);
            sum[i] = _mm512_dpbusd_epi32(sum[i], ones, v[i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        const __m512i bias = _mm512_loadu_si512(&c->each[i].bias);
        _mm512_storeu_si512(&c->each[i].bias, _mm512_sub_epi32(bias, _mm512_slli_epi32(sum[i], 7)));
    }
}

/* int32 per channel, from vectors of 16 slots each to the order of the accumulators. */
EK_INLINE void transpose_lanes(__m512i v[4])
{
    const __m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
    const __m512i c = _mm512_shuffle_i32x4(v[2], v[3], 0x44), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    v[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
    v[2] = _mm512_shuffle_i32x4(b, d, 0x88);
    v[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

/* Returns whether any channel shifts left. */
static bool pack_requant(channels *c, const ek_requant *q, size_t first, size_t count)
{
    const size_t width = width_of(count);
    __m512i bias[4], m[4], shift[4];
    for (size_t i = 0; i < 4; i++) {
        const size_t skip = i * 16 % width, at = first + skip;
        const __mmask16 exist = skip < count ? ek_mask16(count - skip) : 0;
        bias[i] = _mm512_maskz_loadu_epi32(exist, q->bias + at);
        m[i] = _mm512_maskz_loadu_epi32(exist, q->multiplier + at);
        shift[i] = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(exist, q->shift + at));
        if (width == 8) {
            bias[i] = _mm512_shuffle_i32x4(bias[i], bias[i], 0x44);
            m[i] = _mm512_shuffle_i32x4(m[i], m[i], 0x44);
            shift[i] = _mm512_shuffle_i32x4(shift[i], shift[i], 0x44);
        }
    }
    transpose_lanes(bias);
    transpose_lanes(m);
    transpose_lanes(shift);
    bool any_left = false;
    for (int i = 0; i < 4; i++) {
        const ek_channels16 each = ek_channels_from(bias[i], m[i], shift[i]);
        memcpy(&c->each[i], &each, sizeof each);
        any_left = any_left || ek_any_left(&each);
    }
    return any_left;
}

void ek_avx512_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    header h = { HEADER + (uint32_t)(-((uintptr_t)packed + HEADER) % LINE), 0 };
    char *block = (char *)packed + h.start;
    for (size_t first = 0; first < d->c; first += SLOTS, block += block_bytes(d->taps)) {
        const size_t count = d->c - first < SLOTS ? d->c - first : SLOTS;
        if (pack_requant((channels *)block, &d->requant, first, count)) h.any_left = 1;
        pack_weights((channels *)block, d, first, count);
    }
    memcpy(packed, &h, sizeof h);
}

/* One vector of pixels: which of its slots exist, and where they are. */
typedef struct tile {
    __mmask64 exist;
    size_t step;
} tile;

EK_INLINE __m512i load_tile(const int8_t *x, const tile *t, const mode m)
{
    if (m == DENSE || m == WIDE) return _mm512_maskz_loadu_epi8(t->exist, x);
    if (m == HALF) {
        const __m256i p0 = _mm256_maskz_loadu_epi8((__mmask32)t->exist, x);
        const __m256i p1 = _mm256_maskz_loadu_epi8((__mmask32)(t->exist >> 32), x + t->step);
        return _mm512_inserti64x4(_mm512_castsi256_si512(p0), p1, 1);
    }
    __m512i v = _mm512_castsi128_si512(_mm_maskz_loadu_epi8((__mmask16)t->exist, x));
    v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8((__mmask16)(t->exist >> 16), x + t->step), 1);
    v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8((__mmask16)(t->exist >> 32), x + 2 * t->step), 2);
    return _mm512_inserti32x4(v, _mm_maskz_loadu_epi8((__mmask16)(t->exist >> 48), x + 3 * t->step), 3);
}

EK_INLINE void store_tile(int8_t *out, __m512i v, const tile *t, const mode m)
{
    if (m == DENSE || m == WIDE) {
        _mm512_mask_storeu_epi8(out, t->exist, v);
    } else if (m == HALF) {
        _mm256_mask_storeu_epi8(out, (__mmask32)t->exist, _mm512_castsi512_si256(v));
        _mm256_mask_storeu_epi8(out + t->step, (__mmask32)(t->exist >> 32), _mm512_extracti64x4_epi64(v, 1));
    } else {
        _mm_mask_storeu_epi8(out, (__mmask16)t->exist, _mm512_castsi512_si128(v));
        _mm_mask_storeu_epi8(out + t->step, (__mmask16)(t->exist >> 16), _mm512_extracti32x4_epi32(v, 1));
        _mm_mask_storeu_epi8(out + 2 * t->step, (__mmask16)(t->exist >> 32), _mm512_extracti32x4_epi32(v, 2));
        _mm_mask_storeu_epi8(out + 3 * t->step, (__mmask16)(t->exist >> 48), _mm512_extracti32x4_epi32(v, 3));
    }
}

/* What all pixels of a block of channels share. */
typedef struct job {
    const channels *c;
    const int8_t *const *taps;
    int8_t *out;
    size_t out_step, in_step, pixels, first, count;
    uint32_t tap_count;
    bool any_left;
    ek_output16 output;
} job;

EK_INLINE __m512i load_flipped(const job *j, uint32_t tap, size_t at, const tile *t, const mode m)
{
    return _mm512_xor_si512(load_tile(j->taps[tap] + at, t, m), _mm512_set1_epi8(INT8_MIN));
}

EK_INLINE void accumulate(__m512i acc[4], const job *j, size_t at, const tile *t, const mode m, const uint32_t taps)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i x[4], v[4];
    uint32_t g = 0;
    for (; g + 4 <= taps; g += 4) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) x[i] = load_flipped(j, g + i, at, t, m);
        interleave(v, x[0], x[1], x[2], x[3]);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            acc[i] = _mm512_dpbusd_epi32(acc[i], v[i], _mm512_loadu_si512(&j->c->weights[g / 4][i]));
    }
    if (taps % 4 == 0) return;
    x[0] = load_flipped(j, g, at, t, m);
    if (taps % 4 == 1) {
        spread(v, x[0]);
    } else {
        x[1] = load_flipped(j, g + 1, at, t, m);
        x[2] = taps % 4 == 3 ? load_flipped(j, g + 2, at, t, m) : zero;
        interleave(v, x[0], x[1], x[2], zero);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        acc[i] = _mm512_dpbusd_epi32(acc[i], v[i], _mm512_loadu_si512(&j->c->weights[g / 4][i]));
}

/* `left` pixels (slots when dense) remain. */
EK_INLINE __mmask64 tile_mask(const job *j, size_t left, const mode m)
{
    if (m == DENSE) return ek_mask64(left);
    const __mmask64 one = ek_mask64(j->count);
    if (m == WIDE) return one;
    if (m == HALF) return one | (left > 1 ? one << 32 : 0);
    return one | (left > 1 ? one << 16 : 0) | (left > 2 ? one << 32 : 0) | (left > 3 ? one << 48 : 0);
}

EK_INLINE void all_pixels(const job *j, const mode m, const uint32_t taps)
{
    const size_t per_tile = m == DENSE ? SLOTS : m == WIDE ? 1 : m == HALF ? 2 : 4;
    const size_t total = m == DENSE ? j->pixels * j->count : j->pixels;
    const size_t in_step = m == DENSE ? 1 : j->in_step, out_step = m == DENSE ? 1 : j->out_step;
    for (size_t p = 0; p < total; p += per_tile) {
        const tile in = { tile_mask(j, total - p, m), in_step }, out = { in.exist, out_step };
        __m512i acc[4], r[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) acc[i] = _mm512_loadu_si512(&j->c->each[i].bias);
        accumulate(acc, j, p * in_step + j->first, &in, m, taps);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) r[i] = ek_scale16(acc[i], &j->c->each[i], j->any_left);
        store_tile(j->out + p * out_step + j->first, ek_narrow64(r[0], r[1], r[2], r[3], &j->output), &out, m);
    }
}

EK_INLINE void any_taps(const job *j, const mode m)
{
    if (j->tap_count == 9)
        all_pixels(j, m, 9);
    else
        all_pixels(j, m, j->tap_count);
}

static void run_dense(const job *j)
{
    any_taps(j, DENSE);
}
static void run_wide(const job *j)
{
    any_taps(j, WIDE);
}
static void run_half(const job *j)
{
    any_taps(j, HALF);
}
static void run_quarter(const job *j)
{
    any_taps(j, QUARTER);
}

void ek_avx512_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                            const ek_depthwise_s8 *d)
{
    header h;
    memcpy(&h, d->weights, sizeof h);
    const char *block = (const char *)d->weights + ek_packed_start(d->weights);
    job j = { .taps = taps,
              .out = out,
              .out_step = out_step,
              .in_step = in_step,
              .pixels = pixels,
              .tap_count = d->taps,
              .any_left = h.any_left != 0,
              .output = ek_output_from(d->requant.zero_point, d->requant.qmin, d->requant.qmax) };
    const bool dense = in_step == d->c && out_step == d->c && (d->c == 8 || d->c == 16 || d->c == 32);
    for (; j.first < d->c; j.first += SLOTS, block += block_bytes(d->taps)) {
        j.c = (const channels *)block;
        j.count = d->c - j.first < SLOTS ? d->c - j.first : SLOTS;
        const size_t width = width_of(j.count);
        if (dense)
            run_dense(&j);
        else if (width <= 16)
            run_quarter(&j);
        else if (width == 32)
            run_half(&j);
        else
            run_wide(&j);
    }
}
