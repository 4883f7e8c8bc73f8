#include <arm_mve.h>

#include "kernels.h"
#include "kernels_ref/reference.h"

/* A loop under tail predication, as in elementwise_s8.c. */
void ek_mve_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table)
{
    const uint8x16_t middle = vdupq_n_u8(128);
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[in]], #16\n"
                     "veor q0, q0, %q[middle]\n"
                     "vldrb.u8 q1, [%[table], q0]\n"
                     "vstrb.8 q1, [%[out]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [out] "+r"(out), [in] "+r"(in)
                     : [count] "r"(count), [table] "r"(table), [middle] "w"(middle)
                     : "lr", "q0", "q1", "memory");
}

enum { CHANNELS = 16 };

/* Where the results of channels are is an offset of 16 bits: the number of the table, and the element. */
static void channels16(int8_t *out, const int8_t *in, size_t step, size_t rows, const uint16_t *offsets,
                       const int8_t *tables)
{
    const uint16x8_t first = vld1q_u16(offsets), second = vld1q_u16(offsets + CHANNELS / 2);
    const uint8_t *t = (const uint8_t *)tables, *x = (const uint8_t *)in;
    uint8_t *y = (uint8_t *)out;
    for (; rows; rows--, x += step, y += step) {
        const uint16x8_t a = veorq_u16(vldrbq_u16(x), first), b = veorq_u16(vldrbq_u16(x + CHANNELS / 2), second);
        vstrbq_u16(y, vldrbq_gather_offset_u16(t, a));
        vstrbq_u16(y + CHANNELS / 2, vldrbq_gather_offset_u16(t, b));
    }
}

/* So many rows are taken for one that whole vectors cover it. */
void ek_mve_channel_lut_s8(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    const size_t channels = p->channels;
    size_t joined = 1;
    while (channels * joined % CHANNELS) joined *= 2;
    const size_t step = channels * joined, lines = rows / joined;
    for (size_t at = 0, c = 0; at < step; at += CHANNELS) {
        uint16_t offsets[CHANNELS];
        for (int i = 0; i < CHANNELS; i++, c = c + 1 == channels ? 0 : c + 1)
            offsets[i] = (uint16_t)(256 * p->index[c] + 128);
        channels16(out + at, in + at, step, lines, offsets, p->tables);
    }
    ek_channel_lut_s8_ref(out + lines * step, in + lines * step, rows % joined, p);
}
