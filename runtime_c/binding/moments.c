#include "toolkit.h"
#include "wide.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

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

#define AVX2 __attribute__((target("avx2")))

/* The sums of each of four vectors of 8. */
AVX2 static inline __m128i totals_of_four8(const __m256i *v)
{
    __m256i a = _mm256_add_epi32(_mm256_unpacklo_epi32(v[0], v[1]), _mm256_unpackhi_epi32(v[0], v[1]));
    __m256i b = _mm256_add_epi32(_mm256_unpacklo_epi32(v[2], v[3]), _mm256_unpackhi_epi32(v[2], v[3]));
    __m256i c = _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    return _mm_add_epi32(_mm256_castsi256_si128(c), _mm256_extracti128_si256(c, 1));
}

AVX2 static void block_avx2(const int16_t *a, const int16_t *b, size_t pitch, int32_t length, int32_t *out)
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
        for (int32_t i = 0; i < 2; i++) _mm_storeu_si128((__m128i *)(out + i * SIDE), totals_of_four8(sums[i]));
    }
}

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

/* In each quarter, four sums: of that quarter of each of the four vectors. */
VNNI static inline __m512i totals_of_four(const __m512i *v)
{
    __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
    __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* The sums of neighbouring quarters: of a, then of b. */
VNNI static inline __m512i halves_added(__m512i a, __m512i b)
{
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

VNNI static void block_vnni(const int16_t *a, const int16_t *b, size_t pitch, int32_t length, int32_t *out)
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
    __m512i rows[SIDE];
    for (int32_t i = 0; i < SIDE; i++) rows[i] = totals_of_four(sums[i]);
    __m512i low = halves_added(rows[0], rows[1]), high = halves_added(rows[2], rows[3]);
    _mm512_storeu_si512(out, halves_added(low, high));
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

/* The upper half of out [n, n] below the diagonal too, a block at a time. */
#define DEFINE_MIRROR(NAME, SUM)                                        \
    static void NAME(SUM *out, int32_t n)                               \
    {                                                                   \
        for (int32_t first = 0; first < n; first += STEP)               \
            for (int32_t i = first; i < n; i++)                         \
                for (int32_t j = first; j < first + STEP && j < i; j++) \
                    out[(size_t)i * n + j] = out[(size_t)j * n + i];    \
    }

/* NAME: the sums of the rows of a with b's rows, over all columns, added to out [m, n]; if a is the `same`, on and
   above the diagonal alone. */
#define DEFINE_DOTS(NAME, SUM)                                                                                  \
    static void NAME##_of(block *part, const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t panel, \
                          int32_t pitch, int32_t length, int32_t same, SUM *out)                                \
    {                                                                                                           \
        int32_t end = panel + PANEL < n ? panel + PANEL : n, sums[SIDE * SIDE];                                 \
        for (int32_t i = 0; i < (same ? end : m); i += SIDE) {                                                  \
            for (int32_t j = panel; j < end; j += SIDE) {                                                       \
                if (same && j + SIDE <= i) continue;                                                            \
                part(a + (size_t)i * pitch, b + (size_t)j * pitch, (size_t)pitch, length, sums);                \
                for (int32_t r = i; r < i + SIDE && r < m; r++)                                                 \
                    for (int32_t c = j; c < j + SIDE && c < n; c++)                                             \
                        out[(size_t)r * n + c] += sums[(r - i) * SIDE + c - j];                                 \
            }                                                                                                   \
        }                                                                                                       \
    }                                                                                                           \
                                                                                                                \
    static void NAME(const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t pitch, int64_t most,     \
                     int32_t same, SUM *out)                                                                    \
    {                                                                                                           \
        block *part = best_block();                                                                             \
        int64_t whole_steps = INT32_MAX / (most > 0 ? most : 1) / STEP;                                         \
        int32_t length = whole_steps * STEP > CHUNK ? CHUNK : (int32_t)whole_steps * STEP;                      \
        if (length < STEP) {                                                                                    \
            part = block_plain;                                                                                 \
            length = 1;                                                                                         \
        }                                                                                                       \
        for (int32_t panel = 0; panel < n; panel += PANEL) {                                                    \
            for (int32_t start = 0; start < pitch; start += length) {                                           \
                int32_t left = pitch - start < length ? pitch - start : length;                                 \
                NAME##_of(part, a + start, b + start, m, n, panel, pitch, left, same, out);                     \
            }                                                                                                   \
        }                                                                                                       \
    }

DEFINE_MIRROR(mirror_s64, int64_t)
DEFINE_MIRROR(mirror_s32, int32_t)
DEFINE_DOTS(add_dots_s64, int64_t)
DEFINE_DOTS(add_dots_s32, int32_t)

void ek_dot_s16(const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t pitch, int64_t most, int32_t same,
                int64_t *out)
{
    memset(out, 0, (size_t)m * n * sizeof *out);
    add_dots_s64(a, b, m, n, pitch, most, same, out);
    if (same) mirror_s64(out, m);
}

void ek_dot_s16_s32(const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t pitch, int64_t most, int32_t same,
                    int32_t *out)
{
    memset(out, 0, (size_t)m * n * sizeof *out);
    add_dots_s32(a, b, m, n, pitch, most, same, out);
    if (same) mirror_s32(out, m);
}

/* NAME: the sum of VALUE of x [n], `step` apart, in the order of numpy.sum. */
#define DEFINE_SUM(NAME, TYPE, VALUE)                                                                          \
    static double NAME##_of_few(const TYPE *x, size_t step, size_t n)                                          \
    {                                                                                                          \
        double total = 0.0, sums[8];                                                                           \
        size_t i = 0;                                                                                          \
        if (n >= 8) {                                                                                          \
            for (size_t j = 0; j < 8; j++) sums[j] = VALUE(x[j * step]);                                       \
            for (i = 8; i + 8 <= n; i += 8)                                                                    \
                for (size_t j = 0; j < 8; j++) sums[j] += VALUE(x[(i + j) * step]);                            \
            total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])); \
        }                                                                                                      \
        for (; i < n; i++) total += VALUE(x[i * step]);                                                        \
        return total;                                                                                          \
    }                                                                                                          \
                                                                                                               \
    static double NAME(const TYPE *x, size_t step, size_t n)                                                   \
    {                                                                                                          \
        if (n <= 128) return NAME##_of_few(x, step, n);                                                        \
        size_t half = n / 2 / 8 * 8;                                                                           \
        return NAME(x, step, half) + NAME(x + half * step, step, n - half);                                    \
    }

#define SQUARE(v) ((double)(v) * (v))
#define ITSELF(v) (v)
DEFINE_SUM(squares_s32, int32_t, SQUARE)
DEFINE_SUM(squares_f64, double, SQUARE)
DEFINE_SUM(sum_f64, double, ITSELF)

/* The sum of squares off the diagonals of m [groups, k, k]. */
static double squares_beside(const int32_t *m, int32_t groups, int32_t k, double *diagonals)
{
    size_t size = (size_t)k * k;
    for (int32_t g = 0; g < groups; g++) diagonals[g] = squares_s32(m + g * size, (size_t)k + 1, (size_t)k);
    return squares_s32(m, 1, size * groups) - sum_f64(diagonals, 1, (size_t)groups);
}

/* The largest sum of squares of one of the lines x [k, pitch]. */
WIDE static int64_t largest_power(const int16_t *x, int32_t k, int32_t pitch)
{
    int64_t largest = 0;
    for (int32_t i = 0; i < k; i++, x += pitch) {
        int64_t sum = 0;
        for (int32_t c = 0; c < pitch; c++) sum += (int32_t)x[c] * x[c];
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* The largest magnitude of the sum of products of one of the lines x [k, pitch] with one of q, by Cauchy and Schwarz;
   sums of a part of the products are within it too. */
static int64_t largest_sum(const int16_t *x, const int16_t *q, int32_t k, int32_t pitch)
{
    double x_power = (double)largest_power(x, k, pitch), q_power = (double)largest_power(q, k, pitch);
    double power = x_power > q_power ? x_power : q_power;
    return (int64_t)sqrt(power * q_power) + 1;
}

int32_t ek_moments_s16(const int16_t *x, const int16_t *q, int32_t samples, size_t apart, int32_t groups, int32_t rows,
                       int32_t k, const int32_t *x0, const int32_t *q0, int16_t *spare, int32_t pitch, int32_t *own,
                       double *diagonals, int32_t *qq, int32_t *xq, double *squares)
{
    size_t size = (size_t)k * k, all = size * groups;
    int16_t *xs = spare, *qs = spare + (size_t)(k + SIDE) * pitch;
    int64_t bound = 0;
    memset(spare, 0, (size_t)(k + SIDE) * 2 * pitch * sizeof *spare);
    memset(qq, 0, all * sizeof *qq);
    memset(xq, 0, all * sizeof *xq);
    *squares = 0.0;
    for (int32_t s = 0; s < samples; s++, x += apart, q += apart) {
        int64_t most = 0; /* of a sum of one sample */
        memset(own, 0, all * sizeof *own);
        for (int32_t g = 0; g < groups; g++) {
            size_t at = (size_t)g * rows * k, to = g * size;
            int64_t x_most = ek_centred_s16(x + at, x0 + (size_t)g * k, rows, k, 1, xs, pitch);
            int64_t q_most = ek_centred_s16(q + at, q0 + (size_t)g * k, rows, k, 1, qs, pitch);
            int64_t largest = x_most > q_most ? x_most : q_most;
            int64_t sum = largest * q_most * rows;
            if (largest > INT16_MAX) return 0;
            if (bound + sum > INT32_MAX) sum = largest_sum(xs, qs, k, pitch);
            most = sum > most ? sum : most;
            if (bound + most > INT32_MAX) return 0;
            add_dots_s32(qs, qs, k, k, pitch, q_most * q_most, 1, own + to);
            add_dots_s32(xs, qs, k, k, pitch, x_most * q_most, 0, xq + to);
            mirror_s32(own + to, k);
        }
        bound += most;
        *squares += squares_beside(own, groups, k, diagonals);
        for (size_t i = 0; i < all; i++) qq[i] += own[i];
    }
    return 1;
}

int32_t ek_few_squares_s16(const int16_t *q, const int32_t *middle, int32_t samples, int32_t rows, int32_t k,
                           int16_t *spare, int32_t pitch, int32_t *outer, double *powers, double *squares)
{
    size_t all = (size_t)rows * rows;
    memset(spare, 0, (size_t)(rows + SIDE) * pitch * sizeof *spare);
    *squares = 0.0;
    for (int32_t s = 0; s < samples; s++, q += (size_t)rows * k) {
        int64_t most = ek_centred_s16(q, middle, rows, k, 0, spare, pitch);
        if (most > INT16_MAX || most * most > INT32_MAX / k) return 0;
        memset(outer, 0, all * sizeof *outer);
        add_dots_s32(spare, spare, rows, rows, pitch, most * most, 1, outer);
        mirror_s32(outer, rows);
        for (int32_t i = 0; i < k; i++) powers[i] = 0.0;
        for (int32_t r = 0; r < rows; r++)
            for (int32_t i = 0; i < k; i++) powers[i] += SQUARE(spare[(size_t)r * pitch + i]);
        *squares += squares_s32(outer, 1, all) - squares_f64(powers, 1, (size_t)k);
    }
    return 1;
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
