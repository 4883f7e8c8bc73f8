#include <stdbool.h>
#include <string.h>

#include "kernels.h"

size_t ek_mve_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return ((size_t)(n / EK_MVE_COLUMNS) + (n % EK_MVE_COLUMNS != 0)) * ek_mve_gemm_block(k);
}

void ek_mve_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    uint8_t *to = packed;
    for (uint32_t left = n, now; left; left -= now, weights += (size_t)now * k, bias += now) {
        now = left < EK_MVE_COLUMNS ? left : EK_MVE_COLUMNS;
        for (uint32_t i = 0; i < k; i += EK_MVE_DEPTH)
            for (uint32_t j = 0; j < EK_MVE_COLUMNS; j++, to += EK_MVE_DEPTH) {
                const uint32_t some = k - i < EK_MVE_DEPTH ? k - i : EK_MVE_DEPTH;
                memset(to, 0, EK_MVE_DEPTH);
                if (j < now) memcpy(to, weights + (size_t)j * k + i, some);
            }
        memset(to, 0, EK_MVE_COLUMNS * sizeof(int32_t));
        memcpy(to, bias, now * sizeof(int32_t));
        to += EK_MVE_COLUMNS * sizeof(int32_t);
    }
}

size_t ek_mve_packed_gemm_s16(uint32_t n, uint32_t k)
{
    const size_t blocks = n / EK_MVE_COLUMNS + (n % EK_MVE_COLUMNS != 0);
    return sizeof(ek_mve_gemm16) + blocks * ek_mve_gemm_block16(k);
}

static bool may_exceed_int32(const int8_t *weights, int32_t bias, uint32_t k)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < k; i++) sum += (uint64_t)(weights[i] < 0 ? -weights[i] : weights[i]);
    return sum * 32768 + (uint64_t)(bias < 0 ? -(int64_t)bias : bias) > INT32_MAX;
}

void ek_mve_pack_gemm_s16(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    const size_t bytes = ek_mve_gemm_block16(k), biases = bytes - EK_MVE_COLUMNS * sizeof(int32_t);
    ek_mve_gemm16 *const header = packed;
    memset(packed, 0, ek_mve_packed_gemm_s16(n, k));
    for (uint32_t j = 0; j < n; j++, weights += k) {
        uint8_t *const block = (uint8_t *)(header + 1) + j / EK_MVE_COLUMNS * bytes;
        const uint32_t column = j % EK_MVE_COLUMNS;
        header->wide |= may_exceed_int32(weights, bias[j], k);
        for (uint32_t i = 0; i < k; i += EK_MVE_DEPTH16)
            memcpy(block + (size_t)i * EK_MVE_COLUMNS + column * EK_MVE_DEPTH16, weights + i,
                   k - i < EK_MVE_DEPTH16 ? k - i : EK_MVE_DEPTH16);
        memcpy(block + biases + column * sizeof(int32_t), bias + j, sizeof(int32_t));
    }
}

static uint32_t blocks(uint32_t c)
{
    return c / EK_MVE_CHANNELS + (c % EK_MVE_CHANNELS != 0);
}

size_t ek_mve_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    return sizeof(ek_mve_depthwise) + blocks(c) * ek_mve_depthwise_block(taps);
}

static void pack_channel(uint8_t *block, uint32_t lane, const ek_depthwise_s8 *d, uint32_t j)
{
    const int8_t *weights = (const int8_t *)d->weights + j;
    uint8_t *const w = block + EK_MVE_CHANNELS * sizeof(int32_t);
    ek_mve_scales *const scales = (ek_mve_scales *)(void *)(w + (size_t)d->taps * EK_MVE_CHANNELS);
    const uint32_t place = ek_mve_place(lane);
    ((int32_t *)(void *)block)[place] = d->requant.bias[j];
    for (uint32_t t = 0; t < d->taps; t++) w[(size_t)t * EK_MVE_CHANNELS + lane] = (uint8_t)weights[(size_t)t * d->c];
    scales->multiplier[place / 4][place % 4] = d->requant.multiplier[j];
    scales->shift[place / 4][place % 4] = d->requant.shift[j];
}

void ek_mve_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    const uint32_t lanes = ek_mve_period(d->c);
    ek_mve_depthwise *const all = packed;
    memset(packed, 0, ek_mve_packed_depthwise_s8(d->taps, d->c));
    for (uint32_t j = 0; j < d->c; j++) all->any_left |= d->requant.shift[j] > 0;
    for (size_t i = 0; i < (size_t)d->taps * d->c; i++) all->extreme |= ((const int8_t *)d->weights)[i] == INT8_MIN;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint8_t *const block = (uint8_t *)(all + 1) + lane / EK_MVE_CHANNELS * ek_mve_depthwise_block(d->taps);
        pack_channel(block, lane % EK_MVE_CHANNELS, d, lane % d->c);
    }
}
