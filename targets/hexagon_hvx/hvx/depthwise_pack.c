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
