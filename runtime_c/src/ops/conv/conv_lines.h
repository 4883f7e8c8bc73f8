/* Convolution on lines of an image for kernels that take rows in parts: a window is kernel_h parts, one
 * of each line, and the windows of a line overlap. Lines are copied, with their padding, where a window
 * sticks out of the image, and used where they lie otherwise. For int8. */
#ifndef EK_CONV_LINES_H
#define EK_CONV_LINES_H

#include "conv_gemm.h"
#include "depthwise_lines.h"

/* Only families whose tables have gemm_s8_parts define EK_CONV_LINES: others save the flash. */
static inline bool ek_conv_in_lines(const ek_fmt_conv_geometry *g, const ek_kernels *kernels)
{
#ifdef EK_CONV_LINES
    return kernels->gemm_s8_parts && g->groups == 1 && g->dilation_w == 1 && g->kernel_h > 1 &&
           (uint32_t)g->kernel_w * g->in_c % kernels->gemm_s8_parts == 0;
#else
    (void)g, (void)kernels;
    return false;
#endif
}

static inline uint64_t ek_conv_lines_scratch(const ek_fmt_conv_geometry *g)
{
    return ek_mul64(ek_lines_line(g, 1), g->kernel_h);
}

static inline void ek_conv_copy_line(uint8_t *to, const ek_window *w, int32_t y, size_t line)
{
    const size_t columns = line / w->pixel, skip = (size_t)-w->left;
    if (y < 0 || y >= w->in_h || skip >= columns) {
        memset(to, w->fill, line);
        return;
    }
    const size_t in_w = (size_t)w->in_w, count = columns - skip < in_w ? columns - skip : in_w;
    const size_t from = skip * w->pixel, end = (skip + count) * w->pixel;
    memset(to, w->fill, from);
    memcpy(to + from, w->in + (size_t)y * in_w * w->pixel, end - from);
    memset(to + end, w->fill, line - end);
}

/* c->gemm without its parts yet. */
static inline void ek_conv_lines_run(ek_conv *c, const ek_fmt_conv_geometry *g, const ek_window *w, uint8_t *scratch)
{
    const size_t line = (size_t)ek_lines_line(g, 1), in_line = (size_t)w->in_w * w->pixel;
    const bool in_place = w->left == 0 && line <= in_line;
    const int32_t reach = (w->kernel_h - 1) * w->dilation_h;
    c->gemm.part = (uint32_t)((size_t)w->kernel_w * w->pixel);
    for (int32_t y = 0; y < w->out_h; y++) {
        const int32_t top = w->top + y * w->stride_h;
        const uint8_t *a = scratch;
        if (in_place && top >= 0 && top + reach < w->in_h) {
            a = w->in + (size_t)top * in_line;
            c->gemm.part_step = (size_t)w->dilation_h * in_line;
        } else {
            for (int32_t ky = 0; ky < w->kernel_h; ky++)
                ek_conv_copy_line(scratch + (size_t)ky * line, w, top + ky * w->dilation_h, line);
            c->gemm.part_step = line;
        }
        ek_gemm_run(c->kernels, c->out + (size_t)y * c->out_row, c->out_pixel, a, (size_t)w->stride_w * w->pixel,
                    (size_t)w->out_w, &c->gemm);
    }
}

#endif
