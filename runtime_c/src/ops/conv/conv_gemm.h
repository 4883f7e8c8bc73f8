/* The matrix product behind the convolutions: windows of an image times one group's weights. A
 * gemm_*.h goes before it. */
#ifndef EK_CONV_GEMM_H
#define EK_CONV_GEMM_H

#include "window.h"

typedef struct ek_conv {
    const ek_kernels *kernels;
    ek_gemm gemm;
    ek_element *out;           /* of window (0, 0), the group's first channel */
    size_t out_pixel, out_row; /* elements from one window's output to the next one's, and to the next line's */
} ek_conv;

static inline void ek_conv_multiply(const void *context, int32_t y, int32_t x, const void *a, size_t a_step,
                                    size_t rows)
{
    const ek_conv *c = context;
    ek_element *out = c->out + (size_t)y * c->out_row + (size_t)x * c->out_pixel;
    ek_gemm_run(c->kernels, out, c->out_pixel, a, a_step / sizeof(ek_element), rows, &c->gemm);
}

static inline void ek_conv_run(const ek_conv *c, const ek_window *w, void *scratch)
{
    ek_walk walk = { .window = w,
                     .copy = c->kernels->copy,
                     .rows = scratch,
                     .row_bytes = c->gemm.k * sizeof(ek_element),
                     .most = ek_gemm_rows(c->kernels),
                     .across = c->out_row == (size_t)w->out_w * c->out_pixel,
                     .multiply = ek_conv_multiply,
                     .context = c };
    ek_walk_windows(&walk);
}

#endif
