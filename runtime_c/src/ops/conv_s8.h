/* The matrix product behind the int8 convolutions: windows of an image times one group's weights. */
#ifndef EK_CONV_S8_H
#define EK_CONV_S8_H

#include "window.h"

typedef struct ek_conv_s8 {
    const ek_kernels *kernels;
    ek_gemm_s8 gemm;
    int8_t *out;               /* of window (0, 0), the group's first channel */
    size_t out_pixel, out_row; /* elements from one window's output to the next one's, and to the next line's */
} ek_conv_s8;

static inline void ek_conv_s8_multiply(const void *context, int32_t y, int32_t x, const void *a, size_t a_step,
                                       size_t rows)
{
    const ek_conv_s8 *c = context;
    int8_t *out = c->out + (size_t)y * c->out_row + (size_t)x * c->out_pixel;
    c->kernels->gemm_s8(out, c->out_pixel, a, a_step, rows, &c->gemm);
}

static inline void ek_conv_s8_run(const ek_conv_s8 *c, const ek_window *w, void *scratch)
{
    ek_walk walk = { .window = w,
                     .copy = c->kernels->copy,
                     .rows = scratch,
                     .row_bytes = c->gemm.k,
                     .most = c->kernels->gemm_s8_rows,
                     .across = c->out_row == (size_t)w->out_w * c->out_pixel,
                     .multiply = ek_conv_s8_multiply,
                     .context = c };
    ek_walk_windows(&walk);
}

#endif
