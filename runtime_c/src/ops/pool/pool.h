/* Pooling windows: the part of each that lies inside the input. */
#ifndef EK_POOL_H
#define EK_POOL_H

#include "ops/heavy_checks.h"

/* The taps of a window along one axis that are inside the input: `count` of them, `step` apart,
 * the first at `first`. count may be 0. */
typedef struct ek_span {
    uint32_t first, count;
} ek_span;

/* Taps of window `i`; no value overflows after ek_check_pool. */
static inline ek_span ek_pool_span(uint32_t i, uint32_t stride, uint32_t pad, uint32_t kernel, uint32_t dilation,
                                   uint32_t in)
{
    const int32_t start = (int32_t)(i * stride) - (int32_t)pad;
    const uint32_t skipped = start < 0 ? ((uint32_t)-start + dilation - 1) / dilation : 0;
    const int32_t first = start + (int32_t)(skipped * dilation);
    if (skipped >= kernel || first >= (int32_t)in) return (ek_span){ 0, 0 };
    const uint32_t room = (in - (uint32_t)first - 1) / dilation + 1, left = kernel - skipped;
    return (ek_span){ (uint32_t)first, room < left ? room : left };
}

static inline ek_span ek_pool_rows(const ek_fmt_conv_geometry *g, uint32_t oy)
{
    return ek_pool_span(oy, g->stride_h, g->pad_top, g->kernel_h, g->dilation_h, g->in_h);
}

static inline ek_span ek_pool_columns(const ek_fmt_conv_geometry *g, uint32_t ox)
{
    return ek_pool_span(ox, g->stride_w, g->pad_left, g->kernel_w, g->dilation_w, g->in_w);
}

/* A window as runs of pixels: `runs` of them, `run_step` elements apart, each of `count` pixels
 * `step` elements apart, the first at element `first` of the image. Neighbouring lines are one run. */
typedef struct ek_runs {
    size_t first, runs, run_step, count, step;
} ek_runs;

static inline ek_runs ek_pool_runs(const ek_fmt_conv_geometry *g, ek_span rows, ek_span columns)
{
    const size_t c = g->in_c, line = c * g->in_w;
    ek_runs r = { rows.first * line + columns.first * c, rows.count, g->dilation_h * line, columns.count,
                  g->dilation_w * c };
    if (columns.count == g->in_w && g->dilation_w == 1 && (g->dilation_h == 1 || rows.count == 1)) {
        r.count *= rows.count;
        r.runs = rows.count ? 1 : 0;
    }
    return r;
}

/* The most taps that a window has inside the input. */
static inline uint64_t ek_pool_most(const ek_fmt_conv_geometry *g)
{
    const uint64_t h = g->kernel_h < g->in_h ? g->kernel_h : g->in_h;
    return h * (g->kernel_w < g->in_w ? g->kernel_w : g->in_w);
}

static inline bool ek_check_pool(const ek_node *n, const ek_fmt_conv_geometry *g, uint8_t dtype)
{
    return g->in_c == g->out_c && ek_check_geometry(n, g, dtype);
}

#endif
