#include "toolkit.h"
#include "wide.h"

#include <stddef.h>
#include <string.h>

enum { BLOCK = 32, SIDE = 8 };

/* out, rows `pitch` apart = the transpose of x [height, width], rows k apart, less `middle`. Returns the largest
 * magnitude; above INT16_MAX, out says nothing. */
static int32_t turned(const int16_t *x, int32_t k, int32_t height, int32_t width, const int32_t *middle, int16_t *out,
                      int32_t pitch)
{
    int32_t largest = 0;
    for (int32_t j = 0; j < width; j++) {
        int16_t *to = out + (size_t)j * pitch;
        for (int32_t i = 0; i < height; i++) {
            int32_t v = x[(size_t)i * k + j] - middle[j], magnitude = v < 0 ? -v : v;
            largest = magnitude > largest ? magnitude : largest;
            to[i] = (int16_t)v;
        }
    }
    return largest;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <emmintrin.h>

/* v [SIDE] transposed. */
static void turn(__m128i *v)
{
    __m128i a[SIDE], b[SIDE];
    for (int i = 0; i < SIDE; i += 2) {
        a[i] = _mm_unpacklo_epi16(v[i], v[i + 1]);
        a[i + 1] = _mm_unpackhi_epi16(v[i], v[i + 1]);
    }
    for (int i = 0; i < SIDE; i += 4) {
        for (int j = 0; j < 2; j++) {
            b[i + 2 * j] = _mm_unpacklo_epi32(a[i + j], a[i + j + 2]);
            b[i + 2 * j + 1] = _mm_unpackhi_epi32(a[i + j], a[i + j + 2]);
        }
    }
    for (int j = 0; j < SIDE / 2; j++) {
        v[2 * j] = _mm_unpacklo_epi64(b[j], b[j + 4]);
        v[2 * j + 1] = _mm_unpackhi_epi64(b[j], b[j + 4]);
    }
}

/* The same of whole SIDEs, for a middle within int16. */
static int32_t turned_quickly(const int16_t *x, int32_t k, int32_t height, int32_t width, const int32_t *middle,
                              int16_t *out, int32_t pitch)
{
    __m128i least = _mm_setzero_si128(), most = least, lost = least;
    for (int32_t j = 0; j < width; j += SIDE) {
        for (int32_t i = 0; i < height; i += SIDE) {
            __m128i v[SIDE];
            for (int r = 0; r < SIDE; r++) v[r] = _mm_loadu_si128((const __m128i *)(x + (size_t)(i + r) * k + j));
            turn(v);
            for (int c = 0; c < SIDE; c++) {
                __m128i centre = _mm_set1_epi16((int16_t)middle[j + c]), moved = _mm_subs_epi16(v[c], centre);
                lost = _mm_or_si128(lost, _mm_xor_si128(moved, _mm_sub_epi16(v[c], centre)));
                least = _mm_min_epi16(least, moved);
                most = _mm_max_epi16(most, moved);
                _mm_storeu_si128((__m128i *)(out + (size_t)(j + c) * pitch + i), moved);
            }
        }
    }
    int16_t ends[3][SIDE];
    _mm_storeu_si128((__m128i *)ends[0], least);
    _mm_storeu_si128((__m128i *)ends[1], most);
    _mm_storeu_si128((__m128i *)ends[2], lost);
    int32_t largest = 0;
    for (int c = 0; c < SIDE; c++) {
        int32_t magnitude = -ends[0][c] > ends[1][c] ? -ends[0][c] : ends[1][c];
        magnitude = ends[2][c] ? INT16_MAX + 1 : magnitude;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}
#else
#define turned_quickly turned
#endif

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* out [k, pitch] = x' - middle, a block at a time: what is no whole SIDE apart. */
static int32_t centred_transposed(const int16_t *x, const int32_t *middle, int32_t rows, int32_t k, int16_t *out,
                                  int32_t pitch)
{
    int32_t largest = 0, quick = 1;
    for (int32_t j = 0; j < k; j++) quick &= middle[j] >= INT16_MIN && middle[j] <= INT16_MAX;
    for (int32_t start = 0; start < rows; start += BLOCK) {
        int32_t height = rows - start < BLOCK ? rows - start : BLOCK, tall = quick ? height / SIDE * SIDE : 0;
        for (int32_t first = 0; first < k; first += BLOCK) {
            int32_t width = k - first < BLOCK ? k - first : BLOCK, wide = width / SIDE * SIDE;
            const int16_t *from = x + (size_t)start * k + first;
            const int32_t *centre = middle + first;
            int16_t *to = out + (size_t)first * pitch + start;
            largest = larger(largest, turned_quickly(from, k, tall, wide, centre, to, pitch));
            largest = larger(
                largest, turned(from + wide, k, tall, width - wide, centre + wide, to + (size_t)wide * pitch, pitch));
            largest =
                larger(largest, turned(from + (size_t)tall * k, k, height - tall, width, centre, to + tall, pitch));
        }
    }
    for (int32_t j = 0; j < k; j++) memset(out + (size_t)j * pitch + rows, 0, (size_t)(pitch - rows) * sizeof *out);
    return largest;
}

WIDE static int32_t centred_plainly(const int16_t *x, const int32_t *middle, int32_t rows, int32_t k, int16_t *out,
                                    int32_t pitch)
{
    int32_t largest = 0;
    for (int32_t i = 0; i < rows; i++, x += k, out += pitch) {
        for (int32_t j = 0; j < k; j++) {
            int32_t v = x[j] - middle[j], magnitude = v < 0 ? -v : v;
            largest = magnitude > largest ? magnitude : largest;
            out[j] = (int16_t)v;
        }
        memset(out + k, 0, (size_t)(pitch - k) * sizeof *out);
    }
    return largest;
}

int32_t ek_centred_s16(const int16_t *x, const int32_t *middle, int32_t rows, int32_t k, int32_t transposed,
                       int16_t *out, int32_t pitch)
{
    return (transposed ? centred_transposed : centred_plainly)(x, middle, rows, k, out, pitch);
}
