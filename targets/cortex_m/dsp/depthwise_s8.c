#include <stdbool.h>

#include "depthwise_s8.h"
#include "fixed_point.h"
#include "kernels.h"

enum {
    COLUMNS = 20,     /* in the buffer */
    LIST_COLUMNS = 8, /* in a list: more taps than 24 go the plain way */
    COLUMN_WORDS = 6,
};

typedef struct output {
    int8_t *at;
    size_t step;
} output;

/* Channels from `first` on, whose weights are as in the file. */
static void plain(output out, const int8_t *const *taps, size_t in_step, size_t pixels, const ek_depthwise_s8 *d,
                  uint32_t first, const int8_t *weights)
{
    const ek_requant *r = &d->requant;
    const uint32_t count = d->c - first;
    for (size_t p = 0; p < pixels; p++)
        for (uint32_t j = 0; j < count; j++) {
            const size_t channel = first + j;
            const int8_t *w = weights + j;
            uint32_t acc = (uint32_t)r->bias[channel];
            for (uint32_t t = 0; t < d->taps; t++, w += count) acc += (uint32_t)(*w * taps[t][p * in_step + channel]);
            out.at[p * out.step + channel] =
                ek_requantize((int32_t)acc, r->multiplier[channel], r->shift[channel], r->zero_point, r->qmin, r->qmax);
        }
}

/* Three lines whose taps are neighbours, as are the pixels: windows then share columns. */
static bool shares_columns(const int8_t *const *taps, const ek_depthwise_s8 *d, size_t in_step)
{
    if (d->taps != 9) return false;
    const uintptr_t step = (uintptr_t)taps[1] - (uintptr_t)taps[0];
    for (int t = 0; t < 9; t += 3)
        if ((uintptr_t)taps[t + 1] - (uintptr_t)taps[t] != step ||
            (uintptr_t)taps[t + 2] - (uintptr_t)taps[t + 1] != step)
            return false;
    return step == in_step || 2 * step == in_step;
}

static void by_strips(ek_dsp_line *line, const int8_t *const *taps, size_t in_step, output out, size_t pixels,
                      size_t groups)
{
    uint32_t *const x = line->x;
    const uint8_t *const w = line->w, *const w_end = line->w_end;
    const size_t step = (size_t)(taps[1] - taps[0]), stride = in_step == step ? 1 : 2;
    const size_t most = (COLUMNS - 3) / stride + 1;
    line->list = NULL;
    line->step = step;
    line->back = (3 - stride) * sizeof(ek_dsp_column);
    for (size_t p = 0, now; p < pixels; p += now) {
        now = pixels - p < most ? pixels - p : most;
        for (int i = 0; i < 3; i++) line->line[i] = taps[3 * i];
        line->at = (uint32_t)(p * in_step);
        line->x_end = x + ((now - 1) * stride + 3) * COLUMN_WORDS;
        line->end = x + now * stride * COLUMN_WORDS;
        line->w = w;
        line->w_end = w_end;
        line->out = out.at + p * out.step;
        line->rewind = now * out.step - 4;
        line->groups = groups;
        ek_dsp_depthwise_line(line);
    }
}

static void by_pixels(ek_dsp_line *line, const int8_t *const *taps, size_t in_step, output out, size_t pixels,
                      size_t groups, uint32_t tap_count)
{
    const int8_t *list[LIST_COLUMNS * 3];
    const uint8_t *const w = line->w, *const w_end = line->w_end;
    const uint32_t columns = ek_dsp_columns(tap_count);
    for (uint32_t i = 0; i < columns * 3; i++) {
        const uint32_t tap = ek_dsp_tap(tap_count, i / 3, i % 3);
        list[i] = taps[tap < tap_count ? tap : 0];
    }
    line->list = list;
    line->x_end = line->x + columns * COLUMN_WORDS;
    line->back = 0;
    line->end = line->x_end;
    line->rewind = out.step - 4;
    for (size_t p = 0; p < pixels; p++) {
        line->at = (uint32_t)(p * in_step);
        line->w = w;
        line->w_end = w_end;
        line->out = out.at + p * out.step;
        line->groups = groups;
        ek_dsp_depthwise_line(line);
    }
}

void ek_dsp_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d)
{
    const ek_dsp_depthwise *header = d->weights;
    const uint8_t *w = (const uint8_t *)(header + 1);
    const uint32_t columns = ek_dsp_columns(d->taps), first = columns % EK_DSP_UNROLLED;
    const size_t groups = header->plain ? 0 : d->c / 4, group_bytes = ek_dsp_group_bytes(d->taps);
    const output to = { out, out_step };
    if (groups) {
        uint32_t x[COLUMNS * COLUMN_WORDS];
        const uintptr_t skip = first ? (EK_DSP_UNROLLED - first) * EK_DSP_COLUMN_BYTES : 0;
        ek_dsp_line line = {
            .x = x,
            .w = w,
            .w_end = w + 4 * sizeof(int32_t) + columns * sizeof(ek_dsp_column),
            .enter = (const void *)(((uintptr_t)ek_dsp_depthwise_columns + skip) | 1),
            .group_bytes = group_bytes,
            .out_step = out_step,
        };
        if (shares_columns(taps, d, in_step))
            by_strips(&line, taps, in_step, to, pixels, groups);
        else
            by_pixels(&line, taps, in_step, to, pixels, groups, d->taps);
    }
    if (groups * 4 < d->c)
        plain(to, taps, in_step, pixels, d, (uint32_t)groups * 4, (const int8_t *)(w + groups * group_bytes));
}
