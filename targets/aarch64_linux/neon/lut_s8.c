/* lut_s8: the table in 16 registers, four look-ups of 64 entries; an index out of range leaves TBX's
 * result as it is. */
#include "kernels.h"
#include "requant.h"

enum { BLOCK = 16 };

EK_INLINE int8x16_t look_up(int8x16_t x, const int8x16x4_t t[4])
{
    const uint8x16_t quarter = vdupq_n_u8(64), i = veorq_u8(vreinterpretq_u8_s8(x), vdupq_n_u8(128));
    const uint8x16_t i1 = vsubq_u8(i, quarter), i2 = vsubq_u8(i1, quarter), i3 = vsubq_u8(i2, quarter);
    return vqtbx4q_s8(vqtbx4q_s8(vqtbx4q_s8(vqtbl4q_s8(t[0], i), t[1], i1), t[2], i2), t[3], i3);
}

void ek_neon_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table)
{
    if (count >= BLOCK) {
        const int8x16x4_t t[4] = { vld1q_s8_x4(table), vld1q_s8_x4(table + 64), vld1q_s8_x4(table + 128),
                                   vld1q_s8_x4(table + 192) };
        for (; count >= BLOCK; count -= BLOCK, in += BLOCK, out += BLOCK) vst1q_s8(out, look_up(vld1q_s8(in), t));
    }
    for (; count; count--) *out++ = table[*in++ + 128];
}
