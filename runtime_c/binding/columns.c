#include "toolkit.h"
#include "wide.h"

#include <stddef.h>
#include <string.h>

static int32_t whole(double v)
{
    v = v < INT32_MAX ? v : INT32_MAX;
    v = v > -INT32_MAX ? v : -INT32_MAX;
    return (int32_t)ek_nearest(v);
}

WIDE static void wholes(const float *x, double step, size_t count, int32_t *out)
{
    if (step == 1.0) {
        for (size_t i = 0; i < count; i++) out[i] = whole((double)x[i]);
    } else {
        for (size_t i = 0; i < count; i++) out[i] = whole((double)x[i] / step);
    }
}

/* Groups at a time: what they are written to stays in the cache. */
enum { GROUPS = 16 };

/* NAME: the columns of `count` places, of numbers FROM as whole numbers TO, which VALUE makes of x[i]; `scale` is what
   VALUE needs. Those of one place and some groups are each `pitch` after those of the group before. */
#define DEFINE_COLUMNS(NAME, FROM, TO, SCALE, VALUE)                                                                   \
    WIDE static void NAME##_of(const ek_windows *w, const FROM *x, SCALE scale, int32_t y, int32_t at, int32_t groups, \
                               TO *out, size_t pitch)                                                                  \
    {                                                                                                                  \
        size_t depth = (size_t)(w->channels / w->groups);                                                              \
        for (int32_t row = y; row < y + w->kernel_h * w->dilation_h; row += w->dilation_h) {                           \
            for (int32_t column = at; column < at + w->kernel_w * w->dilation_w; column += w->dilation_w) {            \
                int inside = row >= 0 && row < w->height && column >= 0 && column < w->width;                          \
                const FROM *from = inside ? x + ((size_t)row * w->width + column) * w->channels : NULL;                \
                for (int32_t g = 0; g < groups; g++) {                                                                 \
                    TO *to = out + g * pitch;                                                                          \
                    if (!inside) {                                                                                     \
                        memset(to, 0, depth * sizeof *to);                                                             \
                    } else if (depth == 1) {                                                                           \
                        to[0] = VALUE(from[g]);                                                                        \
                    } else {                                                                                           \
                        for (size_t i = 0; i < depth; i++) to[i] = VALUE(from[g * depth + i]);                         \
                    }                                                                                                  \
                }                                                                                                      \
                out += depth;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void NAME(const ek_windows *w, const FROM *x, SCALE scale, const int32_t *places, int32_t count, TO *out)   \
    {                                                                                                                  \
        size_t image_size = (size_t)w->height * w->width * w->channels;                                                \
        size_t k = (size_t)w->kernel_h * w->kernel_w * (w->channels / w->groups);                                      \
        for (int32_t g = 0; g < w->groups; g += GROUPS) {                                                              \
            int32_t groups = w->groups - g < GROUPS ? w->groups - g : GROUPS;                                          \
            size_t first = (size_t)g * (w->channels / w->groups);                                                      \
            for (int32_t i = 0; i < count; i++) {                                                                      \
                int32_t line = places[i] / w->output_w;                                                                \
                int32_t y = line % w->output_h * w->stride_h - w->top;                                                 \
                int32_t at = places[i] % w->output_w * w->stride_w - w->left;                                          \
                NAME##_of(w, x + line / w->output_h * image_size + first, scale, y, at, groups,                        \
                          out + g * count * k + i * k, count * k);                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

static size_t columns_size(const ek_windows *w, int32_t count)
{
    return (size_t)w->kernel_h * w->kernel_w * w->channels * count;
}

#define STEPS(v) whole((double)(v) / scale)
#define MOVED(v) (int16_t)((v) - scale)
#define SAME(v)  ((void)scale, (v))

DEFINE_COLUMNS(columns_f32, float, int32_t, double, STEPS)
DEFINE_COLUMNS(columns_s32, int32_t, int32_t, int32_t, SAME)
DEFINE_COLUMNS(columns_s16, int16_t, int16_t, int32_t, MOVED)
DEFINE_COLUMNS(columns_s8, int8_t, int16_t, int32_t, MOVED)

void ek_columns_f32(const ek_windows *w, const float *x, double step, const int32_t *places, int32_t count,
                    int32_t samples, int32_t images, int32_t *known, int32_t *out)
{
    size_t size = (size_t)w->height * w->width * w->channels * images, made = columns_size(w, count);
    for (int32_t i = 0; i < samples; i++, x += size, places += count, out += made) {
        if (known == NULL) {
            columns_f32(w, x, step, places, count, out);
        } else {
            wholes(x, step, size, known);
            columns_s32(w, known, 0, places, count, out);
        }
    }
}

void ek_columns_s16(const ek_windows *w, const int16_t *x, int32_t zero, const int32_t *places, int32_t count,
                    int32_t samples, int32_t images, int16_t *out)
{
    size_t size = (size_t)w->height * w->width * w->channels * images, made = columns_size(w, count);
    for (int32_t i = 0; i < samples; i++, x += size, places += count, out += made)
        columns_s16(w, x, zero, places, count, out);
}

void ek_columns_s8(const ek_windows *w, const int8_t *x, int32_t zero, const int32_t *places, int32_t count,
                   int32_t samples, int32_t images, int16_t *out)
{
    size_t size = (size_t)w->height * w->width * w->channels * images, made = columns_size(w, count);
    for (int32_t i = 0; i < samples; i++, x += size, places += count, out += made)
        columns_s8(w, x, zero, places, count, out);
}

WIDE int32_t ek_narrowed_s16(const int32_t *x, size_t count, int16_t *out)
{
    int32_t beyond = 0;
    for (size_t i = 0; i < count; i++) {
        beyond |= x[i] > INT16_MAX || x[i] < -INT16_MAX;
        out[i] = (int16_t)x[i];
    }
    return !beyond;
}

WIDE void ek_sums_s16(const int16_t *x, int32_t groups, int32_t rows, int32_t k, int64_t *out)
{
    memset(out, 0, (size_t)groups * k * sizeof *out);
    for (int32_t g = 0; g < groups; g++, out += k)
        for (int32_t r = 0; r < rows; r++, x += k)
            for (int32_t i = 0; i < k; i++) out[i] += x[i];
}
