/* Convolution as a matrix product: the windows of an image, gathered as rows. */
#ifndef EK_WINDOW_H
#define EK_WINDOW_H

#include "op.h"

/* Windows in raster order, each kernel_h x kernel_w taps of `part` bytes. A tap outside the image
 * reads as `fill`. The first tap of window (y, x) lies at (top + y * stride_h, left + x * stride_w). */
typedef struct ek_window {
    const uint8_t *in; /* the first byte a tap takes of the image's first pixel */
    size_t pixel;      /* bytes of an input pixel */
    size_t part;       /* bytes that a tap takes of it */
    int32_t in_h, in_w, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int32_t top, left;
    uint8_t fill;
} ek_window;

/* What becomes of `rows` windows, a row's first byte at a + row * a_step: they are those from
 * (y, x) on in raster order. */
typedef void ek_multiply(const void *context, int32_t y, int32_t x, const void *a, size_t a_step, size_t rows);

typedef struct ek_walk {
    const ek_window *window;
    ek_copy_fn *copy;
    uint8_t *rows; /* scratch for `most` rows */
    size_t row_bytes, most;
    bool across; /* the outputs of the last window of a line and the next are neighbours */
    ek_multiply *multiply;
    const void *context;
    size_t held; /* rows gathered, the first of them window (y, x) */
    int32_t y, x;
} ek_walk;

static inline int32_t ek_min32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
static inline int32_t ek_max32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline void ek_copy_bytes(ek_copy_fn *copy, uint8_t *to, const uint8_t *from, size_t n)
{
    if (copy)
        copy(to, 0, from, 0, n, 1);
    else
        memcpy(to, from, n);
}

/* count times n bytes. Where the sizes of memcpy are constants it is a few instructions; two that
 * overlap make any n between them. */
#define EK_COPY_AS(size)                                  \
    for (size_t i = 0; i < count; i++) {                  \
        uint8_t *const t = to + i * to_step;              \
        const uint8_t *const f = from + i * from_step;    \
        memcpy(t, f, size);                               \
        memcpy(t + (n - (size)), f + (n - (size)), size); \
    }

static inline void ek_copy_many(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, size_t n,
                                size_t count)
{
    if (n > 128) {
        for (size_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, n);
    } else if (n >= 64) {
        EK_COPY_AS(64)
    } else if (n >= 32) {
        EK_COPY_AS(32)
    } else if (n >= 16) {
        EK_COPY_AS(16)
    } else if (n >= 8) {
        EK_COPY_AS(8)
    } else if (n >= 4) {
        EK_COPY_AS(4)
    } else {
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < n; j++) to[i * to_step + j] = from[i * from_step + j];
    }
}

static inline void ek_copy_runs(ek_copy_fn *copy, uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step,
                                size_t n, size_t count)
{
    if (copy)
        copy(to, to_step, from, from_step, n, count);
    else
        ek_copy_many(to, to_step, from, from_step, n, count);
}

/* Columns [from, to) of a window, whose first column is x of the image, lie inside the image. */
static inline void ek_window_columns(const ek_window *w, int32_t x, int32_t *from, int32_t *to)
{
    *from = ek_min32(ek_max32(-x, 0), w->kernel_w);
    *to = ek_max32(ek_min32(w->in_w - x, w->kernel_w), *from);
}

/* One window, wherever it lies: filled, then what is inside the image copied over that. */
static inline void ek_gather_window(uint8_t *to, const ek_walk *k, int32_t y, int32_t x)
{
    const ek_window *const w = k->window;
    const size_t bytes = (size_t)w->kernel_w * w->part, line = (size_t)w->in_w * w->pixel;
    int32_t in_y = w->top + y * w->stride_h, in_x = w->left + x * w->stride_w, rows = 0;
    memset(to, w->fill, bytes * (size_t)w->kernel_h);
    int32_t ky = 0;
    for (; ky < w->kernel_h && in_y < 0; ky++, in_y += w->dilation_h) to += bytes;
    for (int32_t end = in_y; ky < w->kernel_h && end < w->in_h; ky++, end += w->dilation_h) rows++;
    if (!rows) return;
    const uint8_t *const from = w->in + (size_t)in_y * line;
    const size_t from_step = (size_t)w->dilation_h * line;
    if (w->dilation_w == 1 && w->part == w->pixel) {
        int32_t first, end;
        ek_window_columns(w, in_x, &first, &end);
        if (end > first)
            ek_copy_runs(k->copy, to + (size_t)first * w->part, bytes, from + (size_t)(in_x + first) * w->part,
                         from_step, (size_t)(end - first) * w->part, (size_t)rows);
        return;
    }
    for (int32_t kx = 0; kx < w->kernel_w; kx++, in_x += w->dilation_w, to += w->part)
        if (in_x >= 0 && in_x < w->in_w)
            ek_copy_runs(k->copy, to, bytes, from + (size_t)in_x * w->pixel, from_step, w->part, (size_t)rows);
}

/* `count` windows from (y, x) on, all of whose columns are inside the image; their taps of a kernel
 * row are neighbours. */
static inline void ek_gather_run(uint8_t *to, const ek_walk *k, int32_t y, int32_t x, size_t count)
{
    const ek_window *const w = k->window;
    const size_t bytes = (size_t)w->kernel_w * w->part, line = (size_t)w->in_w * w->pixel;
    const size_t step = (size_t)w->stride_w * w->pixel, at = (size_t)(w->left + x * w->stride_w) * w->pixel;
    int32_t in_y = w->top + y * w->stride_h;
    for (int32_t ky = 0; ky < w->kernel_h; ky++, in_y += w->dilation_h, to += bytes) {
        if (in_y >= 0 && in_y < w->in_h) {
            ek_copy_runs(k->copy, to, k->row_bytes, w->in + (size_t)in_y * line + at, step, bytes, count);
        } else {
            for (size_t i = 0; i < count; i++) memset(to + i * k->row_bytes, w->fill, bytes);
        }
    }
}

static inline void ek_walk_flush(ek_walk *k)
{
    if (k->held) k->multiply(k->context, k->y, k->x, k->rows, k->row_bytes, k->held);
    k->held = 0;
}

/* Windows [*from, *to) of every line have all their columns inside the image. */
static inline void ek_window_inside(const ek_window *w, int32_t *from, int32_t *to)
{
    const int32_t room = w->in_w - 1 - (w->kernel_w - 1) * w->dilation_w - w->left;
    const int32_t first = w->left < 0 ? (w->stride_w - 1 - w->left) / w->stride_w : 0;
    *from = ek_min32(first, w->out_w);
    *to = room < 0 ? *from : ek_max32(ek_min32(room / w->stride_w + 1, w->out_w), *from);
}

static inline void ek_walk_gather(ek_walk *k, int32_t y, int32_t from, int32_t to)
{
    const ek_window *w = k->window;
    const bool runs = w->dilation_w == 1 && w->part == w->pixel;
    int32_t inside, outside, count;
    ek_window_inside(w, &inside, &outside);
    for (int32_t x = from; x < to; x += count) {
        uint8_t *const row = k->rows + k->held * k->row_bytes;
        if (!k->held) {
            k->y = y;
            k->x = x;
        }
        count = runs && x >= inside ? ek_min32(outside, to) - x : 0;
        if ((size_t)ek_max32(count, 0) > k->most - k->held) count = (int32_t)(k->most - k->held);
        if (count > 1 && count * 2 > w->kernel_h) {
            ek_gather_run(row, k, y, x, (size_t)count);
        } else {
            count = 1;
            ek_gather_window(row, k, y, x);
        }
        k->held += (size_t)count;
        if (k->held == k->most || (!k->across && x + count == w->out_w)) ek_walk_flush(k);
    }
}

/* A window of one line whose bytes are neighbours is a row where it lies: nothing to gather. */
static inline bool ek_window_is_row(const ek_window *w)
{
    return w->kernel_h == 1 && (w->kernel_w == 1 || (w->dilation_w == 1 && w->part == w->pixel));
}

static inline void ek_walk_in_place(ek_walk *k)
{
    const ek_window *w = k->window;
    const size_t line = (size_t)w->in_w * w->pixel, step = (size_t)w->stride_w * w->pixel;
    int32_t from, to;
    ek_window_inside(w, &from, &to);
    const bool all = k->across && from == 0 && to == w->out_w && w->top == 0 &&
                     (w->out_h - 1) * w->stride_h < w->in_h && (size_t)w->stride_h * line == (size_t)w->out_w * step;
    if (all) {
        k->multiply(k->context, 0, 0, w->in + (size_t)w->left * w->pixel, step, (size_t)w->out_h * (size_t)w->out_w);
        return;
    }
    for (int32_t y = 0; y < w->out_h; y++) {
        const int32_t in_y = w->top + y * w->stride_h;
        if (in_y < 0 || in_y >= w->in_h || from == to) {
            ek_walk_gather(k, y, 0, w->out_w);
            continue;
        }
        ek_walk_gather(k, y, 0, from);
        ek_walk_flush(k);
        const size_t x = (size_t)(w->left + from * w->stride_w);
        k->multiply(k->context, y, from, w->in + (size_t)in_y * line + x * w->pixel, step, (size_t)(to - from));
        ek_walk_gather(k, y, to, w->out_w);
    }
    ek_walk_flush(k);
}

/* Hand every window of the image to k->multiply. */
static inline void ek_walk_windows(ek_walk *k)
{
    if (ek_window_is_row(k->window)) {
        ek_walk_in_place(k);
        return;
    }
    for (int32_t y = 0; y < k->window->out_h; y++) ek_walk_gather(k, y, 0, k->window->out_w);
    ek_walk_flush(k);
}

/* Whether ek_walk_windows needs no rows of scratch. */
static inline bool ek_window_needs_no_rows(const ek_fmt_conv_geometry *g)
{
    return g->kernel_h == 1 && g->kernel_w == 1 && !g->pad_top && !g->pad_left && g->out_h && g->out_w &&
           (uint64_t)(g->out_h - 1) * g->stride_h < g->in_h && (uint64_t)(g->out_w - 1) * g->stride_w < g->in_w;
}

/* The windows of a convolution's first group and image; elements of `size` bytes. */
static inline ek_window ek_conv_window(const ek_fmt_conv_geometry *g, size_t size, uint8_t fill)
{
    return (ek_window){ .pixel = g->in_c * size,
                        .part = g->in_c / g->groups * size,
                        .in_h = (int32_t)g->in_h,
                        .in_w = (int32_t)g->in_w,
                        .out_h = (int32_t)g->out_h,
                        .out_w = (int32_t)g->out_w,
                        .kernel_h = g->kernel_h,
                        .kernel_w = g->kernel_w,
                        .stride_h = g->stride_h,
                        .stride_w = g->stride_w,
                        .dilation_h = g->dilation_h,
                        .dilation_w = g->dilation_w,
                        .top = -(int32_t)g->pad_top,
                        .left = -(int32_t)g->pad_left,
                        .fill = fill };
}

#endif
