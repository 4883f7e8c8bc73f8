/* add_s16, mul_s16, lut_s16 and channel_lut_s16, 16 at a time. Each lane of 128 bits is widened to its lower and its
 * upper four elements; narrowing puts them in order again. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "ops/lookup/lut_s16.h"
#include "requant16.h"

enum { BLOCK = 16, HALF = BLOCK / 2, SPLIT = 12 };

/* b, or b[0] throughout; that is read before out, which may be b, is written. */
typedef struct operand {
    const int16_t *b;
    size_t step;
    __m256i value;
} operand;

static operand operand_of(const int16_t *b, size_t step, size_t count)
{
    return (operand){ b, step, _mm256_set1_epi16(step || !count ? 0 : b[0]) };
}

EK_INLINE __m256i load_b(const operand *x, size_t at, size_t n)
{
    return x->step ? ek_load_some16(x->b + at, n) : x->value;
}

EK_INLINE void store_clamped(int16_t *out, __m256i low, __m256i high, __m256i qmin, __m256i qmax, size_t n)
{
    const __m256i v = _mm256_packs_epi32(low, high);
    ek_store_some16(out, _mm256_min_epi16(_mm256_max_epi16(v, qmin), qmax), n);
}

/* In 32 bits: multipliers are 2^12 times one part plus another, and the products of the second lose 12 bits that are
 * shifted out anyway. */
EK_INLINE __m256i add8(__m256i pairs, __m256i high, __m256i low, __m256i half, __m128i right)
{
    const __m256i rest = _mm256_srai_epi32(_mm256_madd_epi16(pairs, low), SPLIT);
    const __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(pairs, high), rest);
    return _mm256_sra_epi32(_mm256_add_epi32(sum, half), right);
}

EK_INLINE __m256i both(int32_t a, int32_t b)
{
    return _mm256_set1_epi32((int32_t)((uint32_t)a & 0xffff) | (int32_t)((uint32_t)b << 16));
}

void ek_avx2_add_s16(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_add_s16 *p)
{
    if (p->shift <= SPLIT) {
        ek_add_s16_ref(out, a, b, b_step, count, p);
        return;
    }
    const operand x = operand_of(b, b_step, count);
    const int32_t ma = p->a_multiplier, mb = p->b_multiplier, rest = (1 << SPLIT) - 1;
    const __m256i high = both(ma >> SPLIT, mb >> SPLIT), low = both(ma & rest, mb & rest);
    const __m256i half = _mm256_set1_epi32(1 << (p->shift - SPLIT - 1));
    const __m256i qmin = _mm256_set1_epi16((int16_t)p->qmin), qmax = _mm256_set1_epi16((int16_t)p->qmax);
    const __m128i right = _mm_cvtsi32_si128(p->shift - SPLIT);
    for (size_t at = 0; at < count; at += BLOCK) {
        const __m256i va = ek_load_some16(a + at, count - at), vb = load_b(&x, at, count - at);
        const __m256i r0 = add8(_mm256_unpacklo_epi16(va, vb), high, low, half, right);
        const __m256i r1 = add8(_mm256_unpackhi_epi16(va, vb), high, low, half, right);
        store_clamped(out + at, r0, r1, qmin, qmax, count - at);
    }
}

void ek_avx2_mul_s16(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_mul_s16 *p)
{
    const operand x = operand_of(b, b_step, count);
    const __m256i multiplier = _mm256_set1_epi32(p->multiplier), shift = _mm256_set1_epi32((int32_t)p->shift);
    const ek_wide8 c = ek_wide8_from(_mm256_setzero_si256(), multiplier, shift);
    const ek_limits16 limits = ek_limits16_from(p->qmin, p->qmax);
    for (size_t at = 0; at < count; at += BLOCK) {
        const __m256i va = ek_load_some16(a + at, count - at), vb = load_b(&x, at, count - at);
        const __m256i low = _mm256_mullo_epi16(va, vb), high = _mm256_mulhi_epi16(va, vb);
        const __m256i r0 = ek_scale16_sums(_mm256_unpacklo_epi16(low, high), &c, &limits);
        const __m256i r1 = ek_scale16_sums(_mm256_unpackhi_epi16(low, high), &c, &limits);
        ek_store_some16(out + at, _mm256_packs_epi32(r0, r1), count - at);
    }
}

/* Two neighbours of `table` from each place on. No gather: on many CPUs it takes longer. */
EK_INLINE __m256i neighbours(const int16_t *table, __m256i places)
{
    uint32_t at[HALF], found[HALF];
    _mm256_storeu_si256((__m256i *)at, places);
#pragma GCC unroll 8
    for (int i = 0; i < HALF; i++) memcpy(found + i, table + at[i], sizeof *found);
    return _mm256_setr_epi32((int32_t)found[0], (int32_t)found[1], (int32_t)found[2], (int32_t)found[3],
                             (int32_t)found[4], (int32_t)found[5], (int32_t)found[6], (int32_t)found[7]);
}

/* The point before, (128 - f) times, and the one behind it, f times. */
EK_INLINE __m256i interpolate(__m256i points, __m256i weights)
{
    const __m256i half = _mm256_set1_epi32(1 << (LUT_S16_STEP_BITS - 1));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(points, weights), half), LUT_S16_STEP_BITS);
}

/* 16 results, from tables that start at `low` and `high`. */
EK_INLINE __m256i look_up(__m256i v, const int16_t *table, __m256i low, __m256i high)
{
    const __m256i u = _mm256_xor_si256(v, _mm256_set1_epi16(INT16_MIN)), zero = _mm256_setzero_si256();
    const __m256i point = _mm256_srli_epi16(u, LUT_S16_STEP_BITS);
    const __m256i f = _mm256_and_si256(u, _mm256_set1_epi16((1 << LUT_S16_STEP_BITS) - 1));
    const __m256i before = _mm256_sub_epi16(_mm256_set1_epi16(1 << LUT_S16_STEP_BITS), f);
    const __m256i at0 = _mm256_add_epi32(_mm256_unpacklo_epi16(point, zero), low);
    const __m256i at1 = _mm256_add_epi32(_mm256_unpackhi_epi16(point, zero), high);
    return _mm256_packs_epi32(interpolate(neighbours(table, at0), _mm256_unpacklo_epi16(before, f)),
                              interpolate(neighbours(table, at1), _mm256_unpackhi_epi16(before, f)));
}

void ek_avx2_lut_s16(int16_t *out, const int16_t *in, size_t count, const int16_t *table)
{
    const __m256i zero = _mm256_setzero_si256();
    const size_t whole = count / BLOCK * BLOCK;
    for (size_t at = 0; at < whole; at += BLOCK)
        _mm256_storeu_si256((__m256i *)(out + at), look_up(ek_load_some16(in + at, BLOCK), table, zero, zero));
    ek_lut_s16_ref(out + whole, in + whole, count - whole, table);
}

/* 513 times each. */
EK_INLINE __m256i starts_of(__m256i tables)
{
    return _mm256_add_epi32(_mm256_slli_epi32(tables, 9), tables);
}

void ek_avx2_channel_lut_s16(int16_t *out, const int16_t *in, size_t rows, const ek_channel_lut_s16 *p)
{
    const size_t channels = p->channels, whole = channels / BLOCK * BLOCK;
    const __m256i zero = _mm256_setzero_si256();
    for (; rows; rows--, in += channels, out += channels) {
        for (size_t c = 0; c < whole; c += BLOCK) {
            const __m256i index = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p->index + c)));
            const __m256i low = starts_of(_mm256_unpacklo_epi16(index, zero));
            const __m256i high = starts_of(_mm256_unpackhi_epi16(index, zero));
            const __m256i v = ek_load_some16(in + c, BLOCK);
            _mm256_storeu_si256((__m256i *)(out + c), look_up(v, p->tables, low, high));
        }
        for (size_t c = whole; c < channels; c++)
            out[c] = lut_s16(p->tables + (size_t)p->index[c] * LUT_S16_POINTS, in[c]);
    }
}
