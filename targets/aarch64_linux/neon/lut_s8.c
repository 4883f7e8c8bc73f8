/* A table of 256 bytes is 16 registers, and a look-up four of 64 entries; an index out of range leaves TBX's result as
 * it is. */
#include "kernels.h"
#include "requant.h"

enum { GROUP = 16, TILE = 64, LEAST = 12 };

#include "kernels_ref/channel_tiles.h"

/* Quarters of the table one by one: GCC keeps arrays and structs of them in memory. */
EK_INLINE int8x16_t look_up(int8x16_t x, int8x16x4_t t0, int8x16x4_t t1, int8x16x4_t t2, int8x16x4_t t3)
{
    const uint8x16_t quarter = vdupq_n_u8(64), i = veorq_u8(vreinterpretq_u8_s8(x), vdupq_n_u8(128));
    const uint8x16_t i1 = vsubq_u8(i, quarter), i2 = vsubq_u8(i1, quarter), i3 = vsubq_u8(i2, quarter);
    return vqtbx4q_s8(vqtbx4q_s8(vqtbx4q_s8(vqtbl4q_s8(t0, i), t1, i1), t2, i2), t3, i3);
}

EK_INLINE void look_up_groups(int8_t *out, const int8_t *in, size_t groups, const int8_t *table)
{
    const int8x16x4_t t0 = vld1q_s8_x4(table), t1 = vld1q_s8_x4(table + 64);
    const int8x16x4_t t2 = vld1q_s8_x4(table + 128), t3 = vld1q_s8_x4(table + 192);
    for (; groups; groups--, in += GROUP, out += GROUP) vst1q_s8(out, look_up(vld1q_s8(in), t0, t1, t2, t3));
}

void ek_neon_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table)
{
    const size_t whole = count / GROUP * GROUP;
    if (whole) look_up_groups(out, in, whole / GROUP, table);
    for (size_t i = whole; i < count; i++) out[i] = table[in[i] + 128];
}

/* 16 rows of 16 bytes to 16 columns: four times, lines are shuffled with those 8 behind them. */
EK_INLINE void turn(int8_t *out, size_t out_step, const int8_t *in, size_t in_step)
{
    int8x16_t a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) a[i] = vld1q_s8(in + (size_t)i * in_step);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) b[2 * i] = vzip1q_s8(a[i], a[i + 8]), b[2 * i + 1] = vzip2q_s8(a[i], a[i + 8]);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) a[2 * i] = vzip1q_s8(b[i], b[i + 8]), a[2 * i + 1] = vzip2q_s8(b[i], b[i + 8]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) vst1q_s8(out + (size_t)i * out_step, a[i]);
}

static void tile(int8_t *out, const int8_t *in, size_t step, size_t groups, const int8_t *const *tables)
{
    int8_t columns[CHANNELS][TILE];
    for (size_t g = 0; g < groups; g++) turn(columns[0] + GROUP * g, TILE, in + GROUP * g * step, step);
    for (int c = 0; c < CHANNELS; c++) look_up_groups(columns[c], columns[c], groups, tables[c]);
    for (size_t g = 0; g < groups; g++) turn(out + GROUP * g * step, step, columns[0] + GROUP * g, TILE);
}

void ek_neon_channel_lut_s8(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    run_tiles(out, in, rows, p);
}
