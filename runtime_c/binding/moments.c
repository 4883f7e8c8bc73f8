#include "toolkit.h"

#include <stddef.h>
#include <string.h>

/* Each element is computed alone: the same whatever the width of vectors. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* What rounds a number of less than 2^51 to a whole one, half to even, by being added and taken away again. */
static const double ROUNDING = 6755399441055744.0;

static int32_t whole(double v)
{
    v = v < INT32_MAX ? v : INT32_MAX;
    v = v > -INT32_MAX ? v : -INT32_MAX;
    return (int32_t)(v + ROUNDING - ROUNDING);
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

#define STEPS(v) whole((double)(v) / scale)
#define MOVED(v) (int16_t)((v) - scale)
#define SAME(v)  ((void)scale, (v))

DEFINE_COLUMNS(columns_f32, float, int32_t, double, STEPS)
DEFINE_COLUMNS(columns_s32, int32_t, int32_t, int32_t, SAME)
DEFINE_COLUMNS(columns_s16, int16_t, int16_t, int32_t, MOVED)
DEFINE_COLUMNS(columns_s8, int8_t, int16_t, int32_t, MOVED)

void ek_columns_f32(const ek_windows *w, const float *x, double step, const int32_t *places, int32_t count,
                    int32_t *known, int32_t images, int32_t *out)
{
    if (known == NULL) {
        columns_f32(w, x, step, places, count, out);
    } else {
        wholes(x, step, (size_t)w->height * w->width * w->channels * images, known);
        columns_s32(w, known, 0, places, count, out);
    }
}

void ek_columns_s16(const ek_windows *w, const int16_t *x, int32_t zero, const int32_t *places, int32_t count,
                    int16_t *out)
{
    columns_s16(w, x, zero, places, count, out);
}

void ek_columns_s8(const ek_windows *w, const int8_t *x, int32_t zero, const int32_t *places, int32_t count,
                   int16_t *out)
{
    columns_s8(w, x, zero, places, count, out);
}

WIDE void ek_sums_s16(const int16_t *x, int32_t groups, int32_t rows, int32_t k, int64_t *out)
{
    memset(out, 0, (size_t)groups * k * sizeof *out);
    for (int32_t g = 0; g < groups; g++, out += k)
        for (int32_t r = 0; r < rows; r++, x += k)
            for (int32_t i = 0; i < k; i++) out[i] += x[i];
}

WIDE int32_t ek_centred_s16(const int16_t *x, const int32_t *middle, int32_t rows, int32_t k, int32_t transposed,
                            int16_t *out, int32_t pitch)
{
    enum { BLOCK = 32 };
    int16_t block[BLOCK][BLOCK];
    int32_t largest = 0;
    memset(out, 0, (size_t)(transposed ? k : rows) * pitch * sizeof *out);
    for (int32_t start = 0; start < rows; start += BLOCK) {
        int32_t height = rows - start < BLOCK ? rows - start : BLOCK;
        for (int32_t first = 0; first < k; first += BLOCK) {
            int32_t width = k - first < BLOCK ? k - first : BLOCK;
            for (int32_t i = 0; i < height; i++) {
                const int16_t *row = x + (size_t)(start + i) * k + first;
                int16_t *to = transposed ? block[i] : out + (size_t)(start + i) * pitch + first;
                for (int32_t j = 0; j < width; j++) {
                    int32_t v = row[j] - middle[first + j], magnitude = v < 0 ? -v : v;
                    largest = magnitude > largest ? magnitude : largest;
                    to[j] = (int16_t)v;
                }
            }
            for (int32_t j = 0; transposed && j < width; j++)
                for (int32_t i = 0; i < height; i++) out[(size_t)(first + j) * pitch + start + i] = block[i][j];
        }
    }
    return largest;
}

enum { SIDE = 4, STEP = 32 };

/* Sums of products of SIDE rows with SIDE others over `length` columns, whole steps: no sum leaves 32 bits. */
typedef void block(const int16_t *a, const int16_t *b, size_t pitch, int32_t length, int32_t *out);

static void block_plain(const int16_t *a, const int16_t *b, size_t pitch, int32_t length, int32_t *out)
{
    for (int32_t i = 0; i < SIDE; i++) {
        for (int32_t j = 0; j < SIDE; j++) {
            int32_t sum = 0;
            for (int32_t c = 0; c < length; c++) sum += a[i * pitch + c] * b[j * pitch + c];
            out[i * SIDE + j] = sum;
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void block_avx2(const int16_t *a, const int16_t *b, size_t pitch, int32_t length,
                                                       int32_t *out)
{
    for (int32_t i = 0; i < SIDE; i += 2, a += 2 * pitch, out += 2 * SIDE) {
        __m256i sums[2][SIDE];
        for (int32_t j = 0; j < SIDE; j++) sums[0][j] = sums[1][j] = _mm256_setzero_si256();
        for (int32_t c = 0; c < length; c += STEP / 2) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(a + c));
            __m256i y = _mm256_loadu_si256((const __m256i *)(a + pitch + c));
            for (int32_t j = 0; j < SIDE; j++) {
                __m256i w = _mm256_loadu_si256((const __m256i *)(b + j * pitch + c));
                sums[0][j] = _mm256_add_epi32(sums[0][j], _mm256_madd_epi16(x, w));
                sums[1][j] = _mm256_add_epi32(sums[1][j], _mm256_madd_epi16(y, w));
            }
        }
        for (int32_t j = 0; j < 2 * SIDE; j++) {
            __m256i v = sums[j / SIDE][j % SIDE];
            __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
            s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
            out[j] = _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
        }
    }
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) static void
block_vnni(const int16_t *a, const int16_t *b, size_t pitch, int32_t length, int32_t *out)
{
    __m512i sums[SIDE][SIDE];
    for (int32_t j = 0; j < SIDE * SIDE; j++) sums[j / SIDE][j % SIDE] = _mm512_setzero_si512();
    for (int32_t c = 0; c < length; c += STEP) {
        __m512i x[SIDE];
        for (int32_t i = 0; i < SIDE; i++) x[i] = _mm512_loadu_si512(a + i * pitch + c);
        for (int32_t j = 0; j < SIDE; j++) {
            __m512i w = _mm512_loadu_si512(b + j * pitch + c);
            for (int32_t i = 0; i < SIDE; i++) sums[i][j] = _mm512_dpwssd_epi32(sums[i][j], x[i], w);
        }
    }
    for (int32_t j = 0; j < SIDE * SIDE; j++) out[j] = _mm512_reduce_add_epi32(sums[j / SIDE][j % SIDE]);
}

static block *best_block(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) return block_vnni;
    return __builtin_cpu_supports("avx2") ? block_avx2 : block_plain;
}
#else
static block *best_block(void)
{
    return block_plain;
}
#endif

/* Rows of b, and columns of all rows, that are taken at a time: those of b stay in the first-level cache. */
enum { PANEL = 16, CHUNK = 1024 };

/* Sums of the rows of a with b's rows [panel, end) over `length` columns, added to those that are wanted of out. */
static void add_dots(block *part, const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t panel,
                     int32_t pitch, int32_t length, int32_t same, int64_t *out)
{
    int32_t end = panel + PANEL < n ? panel + PANEL : n, sums[SIDE * SIDE];
    for (int32_t i = 0; i < (same ? end : m); i += SIDE) {
        for (int32_t j = panel; j < end; j += SIDE) {
            if (same && j + SIDE <= i) continue;
            part(a + (size_t)i * pitch, b + (size_t)j * pitch, (size_t)pitch, length, sums);
            for (int32_t r = i; r < i + SIDE && r < m; r++)
                for (int32_t c = j; c < j + SIDE && c < n; c++) out[(size_t)r * n + c] += sums[(r - i) * SIDE + c - j];
        }
    }
}

void ek_dot_s16(const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t pitch, int64_t most, int32_t same,
                int64_t *out)
{
    block *part = best_block();
    int64_t whole_steps = INT32_MAX / (most > 0 ? most : 1) / STEP;
    int32_t length = whole_steps * STEP > CHUNK ? CHUNK : (int32_t)whole_steps * STEP;
    if (length < STEP) {
        part = block_plain;
        length = 1;
    }
    memset(out, 0, (size_t)m * n * sizeof *out);
    for (int32_t panel = 0; panel < n; panel += PANEL) {
        for (int32_t start = 0; start < pitch; start += length) {
            int32_t left = pitch - start < length ? pitch - start : length;
            add_dots(part, a + start, b + start, m, n, panel, pitch, left, same, out);
        }
    }
    for (int32_t i = 0; same && i < m; i++)
        for (int32_t j = 0; j < i; j++) out[(size_t)i * n + j] = out[(size_t)j * n + i];
}

enum { SMALL = 64, ROWS = 256 };

/* A block of rows of a group, transposed and centred: columns of int16, and the largest magnitude. */
typedef struct {
    int16_t at[(SMALL + SIDE) * ROWS];
    int64_t most;
} small_rows;

WIDE static void take_rows(const int32_t *x, const int32_t *middle, int32_t rows, int32_t k, int32_t pitch,
                           small_rows *out)
{
    out->most = 0;
    memset(out->at, 0, (size_t)(k + SIDE) * pitch * sizeof *out->at);
    for (int32_t i = 0; i < k; i++) {
        const uint32_t centre = (uint32_t)middle[i];
        int16_t *to = out->at + (size_t)i * pitch;
        int32_t least = INT32_MAX, largest = INT32_MIN;
        for (int32_t r = 0; r < rows; r++) {
            const int32_t v = x[(size_t)r * k + i];
            least = v < least ? v : least;
            largest = v > largest ? v : largest;
            to[r] = (int16_t)((uint32_t)v - centre);
        }
        const int64_t below = (int64_t)middle[i] - least, above = (int64_t)largest - middle[i];
        const int64_t size = below > above ? below : above;
        out->most = size > out->most ? size : out->most;
    }
}

static void add_products(block *part, const small_rows *a, const small_rows *b, int32_t pitch, int32_t k, int same,
                         double *to)
{
    int32_t sums[SIDE * SIDE];
    for (int32_t i = 0; i < k; i += SIDE) {
        for (int32_t j = same ? i : 0; j < k; j += SIDE) {
            part(a->at + (size_t)i * pitch, b->at + (size_t)j * pitch, pitch, pitch, sums);
            for (int32_t r = i; r < i + SIDE && r < k; r++) {
                for (int32_t c = j; c < j + SIDE && c < k; c++) {
                    int32_t sum = sums[(r - i) * SIDE + c - j];
                    to[(size_t)r * k + c] += sum;
                    if (same && j > i) to[(size_t)c * k + r] += sum;
                }
            }
        }
    }
}

/* As add_products of q with q and of x with q, for numbers of any size. */
static void add_large(const int32_t *x, const int32_t *q, const int32_t *x0, const int32_t *q0, int32_t rows, int32_t k,
                      double *qq, double *xq)
{
    double xs[SMALL], qs[SMALL];
    for (int32_t r = 0; r < rows; r++, x += k, q += k) {
        for (int32_t i = 0; i < k; i++) {
            xs[i] = (double)x[i] - x0[i];
            qs[i] = (double)q[i] - q0[i];
        }
        for (int32_t i = 0; i < k; i++) {
            for (int32_t j = 0; j < k; j++) qq[(size_t)i * k + j] += qs[i] * qs[j];
            for (int32_t j = 0; j < k; j++) xq[(size_t)i * k + j] += xs[i] * qs[j];
        }
    }
}

void ek_small_moments_s32(const int32_t *x, const int32_t *q, int32_t groups, int32_t rows, int32_t k,
                          const int32_t *x0, const int32_t *q0, double *qq, double *xq)
{
    block *part = best_block();
    small_rows xs, qs;
    for (int32_t g = 0; g < groups; g++, x0 += k, q0 += k, qq += (size_t)k * k, xq += (size_t)k * k) {
        for (int32_t left = rows; left > 0; left -= ROWS) {
            int32_t count = left < ROWS ? left : ROWS, pitch = (count + STEP - 1) / STEP * STEP;
            take_rows(x, x0, count, k, pitch, &xs);
            take_rows(q, q0, count, k, pitch, &qs);
            int64_t most = xs.most > qs.most ? xs.most : qs.most;
            if (most <= INT16_MAX && most * qs.most <= INT32_MAX / ROWS) {
                add_products(part, &qs, &qs, pitch, k, 1, qq);
                add_products(part, &xs, &qs, pitch, k, 0, xq);
            } else {
                add_large(x, q, x0, q0, count, k, qq, xq);
            }
            x += (size_t)count * k;
            q += (size_t)count * k;
        }
    }
}
