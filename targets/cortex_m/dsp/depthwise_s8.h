/* Depthwise weights as the kernel reads them, and its inner loop, which needs every register. */
#ifndef EK_CORTEX_M_DSP_DEPTHWISE_S8_H
#define EK_CORTEX_M_DSP_DEPTHWISE_S8_H

#include <stddef.h>
#include <stdint.h>

/* Three taps make a column: the first two as a pair of halves, the third alone. Of 9 taps these are
 * the columns of a 3x3 window, so that windows side by side share them. */
static inline uint32_t ek_dsp_columns(uint32_t taps)
{
    return taps / 3 + (taps % 3 != 0);
}

/* The tap at `row` of a column; `taps` or more: there is none. */
static inline uint32_t ek_dsp_tap(uint32_t taps, uint32_t column, uint32_t row)
{
    return taps == 9 ? column + 3 * row : 3 * column + row;
}

/* Packed: this, then for four channels each int32 bias[4], columns of weights, scales, then int8
 * [taps][rest] of the channels that are left; all channels are left when plain is set. Channels come
 * in the order 0, 2, 1, 3 as SXTB16 spreads them. Weights and biases are doubled. */
typedef struct ek_dsp_depthwise {
    uint32_t plain, reserved[3];
} ek_dsp_depthwise;

typedef struct ek_dsp_column {
    int16_t pair[4][2]; /* of a channel: its first two taps */
    int16_t third[4];
} ek_dsp_column;

typedef struct ek_dsp_channel {
    int32_t multiplier, add, shift; /* see shift.h */
} ek_dsp_channel;

static inline size_t ek_dsp_group_bytes(uint32_t taps)
{
    return 4 * sizeof(int32_t) + ek_dsp_columns(taps) * sizeof(ek_dsp_column) + 4 * sizeof(ek_dsp_channel);
}

/* Known to depthwise_s8_loops.c by offset. */
typedef struct ek_dsp_line {
    const int8_t *const *list; /* the taps of each column, or NULL: columns of three lines, side by side */
    uint32_t at;               /* of the first input behind taps or lines; advances by 4 a group */
    const int8_t *line[3];
    uint32_t *x, *x_end; /* columns in 16 bits */
    size_t step;         /* between columns in the lines */
    const uint8_t *w, *w_end;
    const void *enter; /* the code of a pixel's first column */
    size_t group_bytes;
    int8_t *out;
    size_t out_step;
    size_t back;         /* bytes from the end of a pixel's columns back to the next pixel's */
    const uint32_t *end; /* where the last pixel's next would start */
    size_t rewind;       /* bytes of out from behind the last pixel to the next group's first one */
    size_t groups;       /* at least one */
} ek_dsp_line;

enum { EK_DSP_COLUMN_BYTES = 48, EK_DSP_UNROLLED = 3 };

extern const uint8_t ek_dsp_depthwise_columns[]; /* that many columns' code, each so long */
void ek_dsp_depthwise_line(ek_dsp_line *line);

#endif
