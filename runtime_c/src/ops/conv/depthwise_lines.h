/* Depthwise convolution for kernels that pack their weights: every line of the output is one call
 * with all taps. Lines of the image that stick out sideways are copied, with their padding, into a
 * ring of scratch lines; lines above and below the image are one line of padding. */
#ifndef EK_DEPTHWISE_LINES_H
#define EK_DEPTHWISE_LINES_H

#include "depthwise_taps.h"

typedef struct ek_lines {
    const ek_window *window;
    const void **tap;        /* [kernel_h * kernel_w] */
    uint8_t *padding, *ring; /* a line of padding; `span` lines, line y of the image in y % span */
    size_t line;             /* bytes of each */
    int32_t span, next;      /* next: the first line of the image that was not yet copied */
    int32_t skip, count;     /* columns [0, count) of the image go to column `skip` of a line */
    bool in_place;           /* no window sticks out sideways */
    ek_copy_fn *copy;
} ek_lines;

static inline uint64_t ek_lines_line(const ek_fmt_conv_geometry *g, size_t size)
{
    const uint64_t columns =
        ek_add64(ek_mul64((uint64_t)g->out_w - 1, g->stride_w), ((uint64_t)g->kernel_w - 1) * g->dilation_w + 1);
    return ek_mul64(columns, (uint64_t)g->in_c * size);
}

static inline uint64_t ek_lines_span(const ek_fmt_conv_geometry *g)
{
    return ((uint64_t)g->kernel_h - 1) * g->dilation_h + 1;
}

/* Lines in scratch: of padding and the ring, of padding alone where no window sticks out sideways, none
 * where no window sticks out at all. */
static inline uint64_t ek_lines_count(const ek_fmt_conv_geometry *g)
{
    const uint64_t lines = ((uint64_t)g->out_h - 1) * g->stride_h + ek_lines_span(g);
    if (g->pad_left || ek_lines_line(g, 1) > (uint64_t)g->in_w * g->in_c) return ek_lines_span(g) + 1;
    return g->pad_top || lines > g->in_h;
}

static inline uint64_t ek_lines_scratch(const ek_fmt_conv_geometry *g, size_t size)
{
    return ek_add64(ek_taps_pointers(g), ek_mul64(ek_lines_line(g, size), ek_lines_count(g)));
}

static inline ek_lines ek_lines_init(const ek_fmt_conv_geometry *g, const ek_window *w, size_t size, void *scratch,
                                     ek_copy_fn *copy)
{
    const size_t line = (size_t)ek_lines_line(g, size), count = (size_t)ek_lines_count(g);
    const int32_t columns = (int32_t)(line / w->pixel);
    ek_lines l = { .window = w,
                   .tap = scratch,
                   .padding = (uint8_t *)scratch + ek_taps_pointers(g),
                   .line = line,
                   .span = (int32_t)ek_lines_span(g),
                   .skip = -w->left,
                   .count = ek_max32(ek_min32(w->in_w, columns + w->left), 0),
                   .in_place = count < 2,
                   .copy = copy };
    l.ring = l.padding + line;
    memset(l.padding, w->fill, line * count);
    return l;
}

static inline const uint8_t *ek_lines_at(const ek_lines *l, int32_t y)
{
    const ek_window *w = l->window;
    if (y < 0 || y >= w->in_h) return l->padding;
    return l->in_place ? w->in + (size_t)y * (size_t)w->in_w * w->pixel : l->ring + (size_t)(y % l->span) * l->line;
}

/* Copies what line y of the output needs and was not copied for lines before it. */
static inline void ek_lines_fetch(ek_lines *l, int32_t top)
{
    const ek_window *w = l->window;
    const int32_t end = ek_min32(top + l->span, w->in_h);
    for (int32_t y = ek_max32(ek_max32(top, 0), l->next); y < end; y++)
        ek_copy_bytes(l->copy, l->ring + (size_t)(y % l->span) * l->line + (size_t)l->skip * w->pixel,
                      w->in + (size_t)y * (size_t)w->in_w * w->pixel, (size_t)l->count * w->pixel);
    l->next = ek_max32(l->next, end);
}

/* Points the taps at the first window of line y of the output; start with 0 for each image. */
static inline void ek_lines_point(ek_lines *l, int32_t y)
{
    const ek_window *w = l->window;
    const int32_t top = w->top + y * w->stride_h;
    const void **tap = l->tap;
    if (y == 0) l->next = 0;
    if (!l->in_place && l->count) ek_lines_fetch(l, top);
    for (int32_t ky = 0; ky < w->kernel_h; ky++) {
        const uint8_t *line = ek_lines_at(l, top + ky * w->dilation_h);
        for (int32_t kx = 0; kx < w->kernel_w; kx++) *tap++ = line + (size_t)(kx * w->dilation_w) * w->pixel;
    }
}

#endif
