#include <string.h>

#include "depthwise.h"
#include "kernels.h"

size_t ek_hvx_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    return EK_LINE - EK_ALIGN + ((size_t)c + EK_SLOTS - 1) / EK_SLOTS * ek_depthwise_block_bytes(taps);
}

static void put_word(HVX_Vector *v, size_t lane, int32_t value)
{
    memcpy((char *)v + lane * sizeof value, &value, sizeof value);
}

static void pack_slot(ek_depthwise_block *b, size_t slot, const ek_depthwise_s8 *d, size_t channel)
{
    ek_channels32 *const each = &b->each[slot / EK_WORDS];
    const size_t lane = slot % EK_WORDS;
    const int32_t shift = d->requant.shift[channel], right = shift < 0 ? -shift : 0;
    put_word(&each->bias, lane, d->requant.bias[channel]);
    put_word(&each->multiplier, lane, d->requant.multiplier[channel]);
    put_word(&each->left, lane, shift > 0 ? shift : 0);
    put_word(&each->right, lane, right);
    put_word(&each->half, lane, right ? (int32_t)(UINT32_C(1) << (right - 1)) : 0);
    for (uint32_t t = 0; t < d->taps; t++)
        ((int8_t *)&b->weights[t / 4][slot / EK_WORDS])[lane * 4 + t % 4] =
            ((const int8_t *)d->weights)[t * (size_t)d->c + channel];
}

void ek_hvx_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    char *block = (char *)(uintptr_t)ek_first_line(packed);
    memset(packed, 0, ek_hvx_packed_depthwise_s8(d->taps, d->c));
    for (size_t first = 0; first < d->c; first += EK_SLOTS, block += ek_depthwise_block_bytes(d->taps))
        for (size_t pixel = 0; pixel < ek_depthwise_pixels(d->c); pixel++)
            for (size_t j = 0; j < EK_SLOTS && first + j < d->c; j++)
                pack_slot((ek_depthwise_block *)(void *)block, pixel * d->c + j, d, first + j);
}

size_t ek_hvx_packed_depthwise_s16(uint32_t taps, uint32_t c)
{
    return EK_LINE - EK_ALIGN + ((size_t)c + EK_SLOTS16 - 1) / EK_SLOTS16 * ek_depthwise_block16_bytes(taps);
}

/* The requantization of 64 slots, word by word. */
typedef struct slots16 {
    _Alignas(EK_LINE) int32_t multiplier[EK_SLOTS16];
    int32_t shift[EK_SLOTS16], high[EK_SLOTS16], low[EK_SLOTS16];
} slots16;

static void pack_slot16(slots16 *s, ek_depthwise_block16 *b, size_t slot, const ek_depthwise_s16 *d, size_t channel)
{
    const int32_t bias = d->requant.bias[channel];
    s->multiplier[slot] = d->requant.multiplier[channel];
    s->shift[slot] = d->requant.shift[channel];
    s->low[slot] = bias & 255;
    s->high[slot] = (bias - s->low[slot]) / 256;
    for (uint32_t t = 0; t < d->taps; t++)
        ((int16_t *)&b->weights[t / 2][slot / EK_WORDS])[slot % EK_WORDS * 2 + t % 2] =
            ((const int8_t *)d->weights)[t * (size_t)d->c + channel];
}

static void pack_block16(ek_depthwise_block16 *b, const ek_depthwise_s16 *d, size_t first)
{
    slots16 s;
    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < EK_SLOTS16; i++) s.shift[i] = EK_LEAST_SHIFT;
    for (size_t pixel = 0; pixel < ek_depthwise_pixels(2 * (size_t)d->c); pixel++)
        for (size_t j = 0; j < EK_SLOTS16 && first + j < d->c; j++) pack_slot16(&s, b, pixel * d->c + j, d, first + j);
    for (int half = 0; half < 2; half++) {
        const size_t at = (size_t)half * EK_WORDS;
        b->ratios[half] = ek_ratios_from(ek_line(s.multiplier + at), ek_line(s.shift + at));
        b->start[half] = (ek_sums32){ ek_line(s.high + at), ek_line(s.low + at) };
    }
}

void ek_hvx_pack_depthwise_s16(void *packed, const ek_depthwise_s16 *d)
{
    char *block = (char *)(uintptr_t)ek_first_line(packed);
    memset(packed, 0, ek_hvx_packed_depthwise_s16(d->taps, d->c));
    for (size_t first = 0; first < d->c; first += EK_SLOTS16, block += ek_depthwise_block16_bytes(d->taps))
        pack_block16((ek_depthwise_block16 *)(void *)block, d, first);
}
