/* Depthwise convolution: where the taps of a pixel lie, and which pixels can go together. */
#ifndef EK_DEPTHWISE_TAPS_H
#define EK_DEPTHWISE_TAPS_H

#include "ops/heavy_checks.h"
#include "window.h"

/* A tap's place in scratch: a pointer, 8 bytes on every target so that plans agree. */
#define EK_TAP_BYTES 8

typedef struct ek_taps {
    const void **tap;    /* [kernel_h * kernel_w] */
    const uint8_t *zero; /* a pixel of padding */
    int32_t from, to;    /* pixels [from, to) of a line have all their columns inside the image */
    int32_t first, end;  /* kernel rows [first, end) of the present line are inside; all if none is */
} ek_taps;

static inline uint64_t ek_taps_pointers(const ek_fmt_conv_geometry *g)
{
    return ek_align16((uint64_t)g->kernel_h * g->kernel_w * EK_TAP_BYTES);
}

static inline uint64_t ek_taps_scratch(const ek_fmt_conv_geometry *g, size_t size)
{
    return ek_taps_pointers(g) + ek_align16((uint64_t)g->in_c * size);
}

static inline bool ek_check_depthwise(const ek_fmt_conv_geometry *g)
{
    return g->in_c == g->groups && g->out_c == g->groups;
}

static inline ek_taps ek_taps_init(const ek_fmt_conv_geometry *g, const ek_window *w, void *scratch)
{
    uint8_t *zero = (uint8_t *)scratch + ek_taps_pointers(g);
    ek_taps taps = { .tap = scratch, .zero = zero };
    memset(zero, w->fill, w->pixel);
    ek_window_inside(w, &taps.from, &taps.to);
    return taps;
}

/* Goes to line y of the output. Kernel rows outside the image are left out: a whole line of pixels
 * can then go at once, where rows of padding would need the memory of a line. */
static inline void ek_taps_line(ek_taps *t, const ek_window *w, int32_t y)
{
    const int32_t top = w->top + y * w->stride_h;
    t->first = top < 0 ? ek_min32((w->dilation_h - 1 - top) / w->dilation_h, w->kernel_h) : 0;
    t->end = top < w->in_h ? ek_min32((w->in_h - 1 - top) / w->dilation_h + 1, w->kernel_h) : 0;
    if (t->first >= t->end) {
        t->first = 0;
        t->end = w->kernel_h;
    }
}

/* Points the taps at window (y, x) and returns how many pixels from it on they serve. */
static inline int32_t ek_taps_point(const ek_taps *t, const ek_window *w, int32_t y, int32_t x)
{
    const void **tap = t->tap;
    int32_t in_y = w->top + y * w->stride_h + t->first * w->dilation_h;
    const bool inside = in_y >= 0 && in_y < w->in_h;
    for (int32_t ky = t->first; ky < t->end; ky++, in_y += w->dilation_h) {
        int32_t in_x = w->left + x * w->stride_w;
        for (int32_t kx = 0; kx < w->kernel_w; kx++, in_x += w->dilation_w)
            *tap++ = inside && in_x >= 0 && in_x < w->in_w
                         ? w->in + ((size_t)in_y * (size_t)w->in_w + (size_t)in_x) * w->pixel
                         : t->zero;
    }
    return inside && x >= t->from && x < t->to ? t->to - x : 1;
}

#endif
