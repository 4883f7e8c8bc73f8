/* Transposed convolution as plain ones: the outputs of equal (y % stride_h, x % stride_w), a phase,
 * are a convolution of stride 1 with the taps that reach them. edge.fbs says how the file orders
 * weights and biases by phase. */
#ifndef EK_TRANSPOSE_PHASES_H
#define EK_TRANSPOSE_PHASES_H

#include "ops/heavy_checks.h"
#include "window.h"

/* One phase of one axis. */
typedef struct ek_phase_axis {
    int32_t outputs;  /* how many, `stride` apart */
    int32_t taps;     /* that reach them */
    int32_t before;   /* taps of the axis' earlier phases */
    int32_t first;    /* input coordinate of the first tap of the first output */
    int32_t dilation; /* inputs between two taps */
} ek_phase_axis;

typedef struct ek_phases {
    const ek_fmt_conv_geometry *geometry;
    int32_t y, x; /* the next phase */
    ek_phase_axis rows, columns;
} ek_phases;

static inline int32_t ek_gcd(int32_t a, int32_t b)
{
    while (b) {
        const int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Phase `at` of an axis; `before` comes from the previous one. Tap k reaches output o from input
 * (o + pad - k * dilation) / stride where that is whole: from the last tap to the first, inputs ascend. */
static inline ek_phase_axis ek_phase_of(int32_t at, int32_t before, int32_t out, int32_t stride, int32_t kernel,
                                        int32_t dilation, int32_t pad)
{
    const int32_t common = ek_gcd(stride, dilation), step = stride / common;
    ek_phase_axis axis = { .outputs = (out - at + stride - 1) / stride,
                           .before = before,
                           .dilation = dilation / common };
    for (int32_t k = 0; k < step && k < kernel; k++) {
        if ((at + pad - k * dilation) % stride != 0) continue;
        axis.taps = (kernel - 1 - k) / step + 1;
        axis.first = (at + pad - (k + (axis.taps - 1) * step) * dilation) / stride;
        break;
    }
    return axis;
}

static inline ek_phase_axis ek_phase_row(const ek_fmt_conv_geometry *g, int32_t y, int32_t before)
{
    return ek_phase_of(y, before, (int32_t)g->out_h, g->stride_h, g->kernel_h, g->dilation_h, g->pad_top);
}

static inline ek_phase_axis ek_phase_column(const ek_fmt_conv_geometry *g, int32_t x, int32_t before)
{
    return ek_phase_of(x, before, (int32_t)g->out_w, g->stride_w, g->kernel_w, g->dilation_w, g->pad_left);
}

static inline ek_phases ek_phases_begin(const ek_fmt_conv_geometry *g)
{
    return (ek_phases){ .geometry = g, .x = -1, .rows = ek_phase_row(g, 0, 0) };
}

/* Goes to the next phase that has outputs; false after the last. */
static inline bool ek_phases_next(ek_phases *p)
{
    const ek_fmt_conv_geometry *g = p->geometry;
    if (++p->x == ek_min32(g->stride_w, (int32_t)g->out_w)) {
        p->x = 0;
        if (++p->y == ek_min32(g->stride_h, (int32_t)g->out_h)) return false;
        p->rows = ek_phase_row(g, p->y, p->rows.before + p->rows.taps);
    }
    p->columns = ek_phase_column(g, p->x, p->x ? p->columns.before + p->columns.taps : 0);
    return true;
}

static inline uint32_t ek_phase_taps(const ek_phases *p)
{
    return (uint32_t)p->rows.taps * (uint32_t)p->columns.taps;
}

/* Of this phase in the file: its first weight, counted in [out_c][in_c / groups] matrices, and its
 * first bias, counted in rows of out_c. */
static inline size_t ek_phase_weights(const ek_phases *p)
{
    return (size_t)p->rows.before * p->geometry->kernel_w + (size_t)p->rows.taps * (size_t)p->columns.before;
}

static inline size_t ek_phase_biases(const ek_phases *p)
{
    return (size_t)p->y * p->geometry->stride_w + (size_t)p->x;
}

/* The windows of the phase in the first group and image; elements of `size` bytes. */
static inline ek_window ek_phase_window(const ek_phases *p, size_t size, uint8_t fill)
{
    const ek_fmt_conv_geometry *g = p->geometry;
    return (ek_window){ .pixel = g->in_c * size,
                        .part = g->in_c / g->groups * size,
                        .in_h = (int32_t)g->in_h,
                        .in_w = (int32_t)g->in_w,
                        .out_h = p->rows.outputs,
                        .out_w = p->columns.outputs,
                        .kernel_h = p->rows.taps,
                        .kernel_w = p->columns.taps,
                        .stride_h = 1,
                        .stride_w = 1,
                        .dilation_h = p->rows.dilation,
                        .dilation_w = p->columns.dilation,
                        .top = p->rows.first,
                        .left = p->columns.first,
                        .fill = fill };
}

/* Elements of the longest gathered row of any phase. */
static inline uint64_t ek_phases_most_k(const ek_fmt_conv_geometry *g)
{
    if (!g->groups || !g->stride_h || !g->stride_w || !g->dilation_h || !g->dilation_w) return 0;
    const uint32_t step_h = g->stride_h / (uint32_t)ek_gcd(g->stride_h, g->dilation_h);
    const uint32_t step_w = g->stride_w / (uint32_t)ek_gcd(g->stride_w, g->dilation_w);
    const uint64_t taps_h = (g->kernel_h + step_h - 1) / step_h, taps_w = (g->kernel_w + step_w - 1) / step_w;
    return taps_h * taps_w * (g->in_c / g->groups);
}

#endif
