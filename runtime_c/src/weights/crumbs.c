/* Weights of 2 bits, four a byte, the lowest first; each row of the file begins with a byte. An int8 is its
 * two bits, -2 to 1, times the multiplier, 1 to 16, of its group of a channel's weights. */
#include "grouped.h"
#include "nibbles.h"

static bool crumbs_check(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec, const ek_coded_size *s)
{
    return ek_check_grouped(node, weights, codec, s, s->count / 4 + (s->count % 4 != 0));
}

static inline size_t crumbs_row(size_t count)
{
    return count / 4 + (count % 4 != 0);
}

static inline int32_t crumb_at(const uint8_t *row, size_t i)
{
    const int32_t bits = row[i / 4] >> (i % 4 * 2) & 3;
    return (bits ^ 2) - 2;
}

static void crumbs_unpack(int8_t *to, ek_coded *w, size_t first, size_t n)
{
    const size_t k = w->k, group = w->group ? w->group : k, groups = ek_w4_groups(k, w->group);
    for (size_t j = first; j < first + n; j++) {
        const uint8_t *row = w->data + j * crumbs_row(k);
        const uint8_t *multiplier = w->group ? w->auxiliary + j * groups : NULL;
        for (size_t i = 0; i < k; multiplier += multiplier != NULL) {
            const size_t end = k - i < group ? k : i + group;
            const int32_t m = multiplier ? *multiplier : 1;
            for (; i < end; i++) *to++ = (int8_t)(crumb_at(row, i) * m);
        }
    }
}

static void crumbs_unpack_taps(int8_t *to, ek_coded *w, size_t n)
{
    const size_t groups = ek_w4_groups(w->k, w->group);
    const uint8_t *row = w->data;
    for (size_t t = 0; t < w->k; t++, row += crumbs_row(n))
        for (size_t j = 0; j < n; j++) {
            const int32_t m = w->group ? w->auxiliary[j * groups + t / w->group] : 1;
            *to++ = (int8_t)(crumb_at(row, j) * m);
        }
}

const ek_codec ek_codec_crumbs = {
    .id = EK_WEIGHT_CODEC_CRUMBS, .check = crumbs_check, .unpack = crumbs_unpack, .unpack_taps = crumbs_unpack_taps
};
