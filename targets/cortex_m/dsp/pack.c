#include <stdbool.h>
#include <string.h>

#include "depthwise_s8.h"
#include "gemm_s16.h"
#include "kernels.h"
#include "shift.h"

/* Channels go in pairs (b, a). Of each, four weights in turn make two words: the halves of the first
 * belong to k and k + 2, those of the second to k + 1 and k + 3, as SXTB16 spreads four inputs. A half
 * is 256 * a + (b + 128): a sum of products with it, less the sum with its low bytes alone, is 256
 * times the sum for a, so that only b needs unpacking. Behind the last pair lies what a kernel may
 * read, and multiply by zero. */
enum { PAST_THE_END = 32 };

static uint32_t fours(uint32_t k)
{
    return k / 4 + (k % 4 != 0);
}

size_t ek_dsp_packed_gemm_s8(uint32_t n, uint32_t k)
{
    const size_t pairs = (size_t)(n / 2) + n % 2;
    return (pairs * fours(k) * 8 + PAST_THE_END + 15) / 16 * 16;
}

void ek_dsp_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    uint8_t *to = packed;
    (void)bias;
    for (uint32_t j = 0; j < n; j += 2, weights += k) {
        const size_t other = j + 1 < n ? k : 0; /* without one the pair's second channel is zeros */
        const uint32_t there = j + 1 < n ? UINT32_MAX : 0;
        for (uint32_t left = k, now; left; left -= now, weights += now, to += 8) {
            uint32_t b = 0, a = 0;
            now = 4;
            if (left >= 4) {
                memcpy(&b, weights, 4);
                memcpy(&a, weights + other, 4);
            } else {
                now = left;
                memcpy(&b, weights, now);
                memcpy(&a, weights + other, now);
            }
            a &= there;
            b ^= 0x80808080;
            const uint32_t even = (b & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
            const uint32_t odd = (b >> 8 & 0x00ff00ff) | (a & 0xff00ff00);
            memcpy(to, &even, 4);
            memcpy(to + 4, &odd, 4);
        }
    }
    memset(to, 0, PAST_THE_END);
}

/* Behind the last pair of int16's weights lies what the last step of one row reads. */
enum { PAST_THE_END16 = 16 };

size_t ek_dsp_packed_gemm_s16(uint32_t n, uint32_t k)
{
    const size_t pairs = (size_t)(n / 2) + n % 2;
    return (sizeof(ek_dsp_gemm16) + pairs * ek_dsp_pair_bytes16(k) + PAST_THE_END16 + 15) / 16 * 16;
}

static bool may_exceed_int32(const int8_t *weights, int32_t bias, uint32_t k)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < k; i++) sum += (uint64_t)(weights[i] < 0 ? -weights[i] : weights[i]);
    return sum * 32768 + (uint64_t)(bias < 0 ? -(int64_t)bias : bias) > INT32_MAX;
}

void ek_dsp_pack_gemm_s16(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    ek_dsp_gemm16 *const header = packed;
    int8_t *to = (int8_t *)(header + 1);
    memset(packed, 0, ek_dsp_packed_gemm_s16(n, k));
    for (uint32_t j = 0; j < n; j++, weights += k) {
        header->wide |= may_exceed_int32(weights, bias[j], k);
        for (uint32_t i = 0; i < k; i++) to[(size_t)i * 2 + j % 2] = weights[i];
        if (j % 2) to += ek_dsp_pair_bytes16(k);
    }
}

/* Where a kernel's list of taps ends. */
enum { MOST_COLUMNS = 8 };

size_t ek_dsp_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    const size_t packed = c / 4 * ek_dsp_group_bytes(taps) + (size_t)taps * (c % 4), plain = (size_t)taps * c;
    return (sizeof(ek_dsp_depthwise) + (packed > plain ? packed : plain) + 15) / 16 * 16;
}

static bool is_plain(const ek_depthwise_s8 *d)
{
    const ek_requant *r = &d->requant;
    bool plain = ek_dsp_columns(d->taps) > MOST_COLUMNS || r->qmin != INT8_MIN || r->qmax != INT8_MAX;
    for (uint32_t j = 0; j < d->c; j++) plain |= r->shift[j] > 0 || r->shift[j] < -EK_DSP_MOST_SHIFT;
    return plain;
}

static uint8_t *put(uint8_t *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

static uint8_t *pack_group(uint8_t *to, const ek_depthwise_s8 *d, uint32_t first)
{
    static const uint8_t order[4] = { 0, 2, 1, 3 };
    const ek_requant *r = &d->requant;
    const int8_t *weights = d->weights;
    for (int i = 0; i < 4; i++) {
        const uint32_t bias = (uint32_t)r->bias[first + order[i]] * 2;
        to = put(to, &bias, sizeof bias);
    }
    for (uint32_t column = 0; column < ek_dsp_columns(d->taps); column++) {
        ek_dsp_column packed;
        for (int i = 0; i < 4; i++)
            for (uint32_t row = 0; row < 3; row++) {
                const uint32_t tap = ek_dsp_tap(d->taps, column, row);
                const int8_t w = tap < d->taps ? weights[(size_t)tap * d->c + first + order[i]] : 0;
                *(row < 2 ? &packed.pair[i][row] : &packed.third[i]) = (int16_t)(w * 2);
            }
        to = put(to, &packed, sizeof packed);
    }
    for (int i = 0; i < 4; i++) {
        const uint32_t j = first + order[i];
        const ek_dsp_channel channel = { r->multiplier[j], ek_dsp_add(r->zero_point, -r->shift[j]), -r->shift[j] };
        to = put(to, &channel, sizeof channel);
    }
    return to;
}

void ek_dsp_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    const ek_dsp_depthwise header = { .plain = is_plain(d) };
    const uint32_t grouped = header.plain ? 0 : d->c / 4 * 4;
    memset(packed, 0, ek_dsp_packed_depthwise_s8(d->taps, d->c));
    uint8_t *to = put(packed, &header, sizeof header);
    for (uint32_t j = 0; j < grouped; j += 4) to = pack_group(to, d, j);
    for (uint32_t t = 0; t < d->taps && grouped < d->c; t++)
        to = put(to, (const int8_t *)d->weights + (size_t)t * d->c + grouped, d->c - grouped);
}
