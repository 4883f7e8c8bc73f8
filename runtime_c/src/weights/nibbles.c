/* Weights of 4 bits, two a byte, the lower first; each row of the file begins with a byte. An int8 is its
 * nibble, -8 to 7, times the multiplier, 1 to 16, of its group of a channel's weights. */
#include "nibbles.h"

#include "grouped.h"

static bool nibbles_check(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec, const ek_coded_size *s)
{
    return ek_check_grouped(node, weights, codec, s, s->count / 2 + s->count % 2);
}

static ek_w4 channels_from(const ek_coded *w, size_t first)
{
    return (ek_w4){ w->data + first * ek_w4_row(w->k),
                    w->group ? w->auxiliary + first * ek_w4_groups(w->k, w->group) : NULL, w->group, w->k };
}

/* Weights [i, end) of a row, a byte of two at a time. Not static, so not inline: the loop keeps the registers. */
int8_t *ek_w4_unpack_run(int8_t *to, const uint8_t *row, size_t i, size_t end, int32_t m);

int8_t *ek_w4_unpack_run(int8_t *to, const uint8_t *row, size_t i, size_t end, int32_t m)
{
    const int8_t *both = (const int8_t *)row + i / 2;
    int8_t *const last = to + (end - i);
    if (i % 2 && to < last) *to++ = (int8_t)((*both++ >> 4) * m);
    for (; last - to >= 2; both++) {
        *to++ = (int8_t)(ek_w4_lower(*both) * m);
        *to++ = (int8_t)((*both >> 4) * m);
    }
    if (to < last) *to++ = (int8_t)(ek_w4_lower(*both) * m);
    return to;
}

static void unpack(int8_t *to, ek_coded *coded, size_t first, size_t n)
{
    const ek_w4 w = channels_from(coded, first);
    const size_t k = w.k, group = w.group ? w.group : k, groups = ek_w4_groups(k, w.group);
    for (size_t j = 0; j < n; j++) {
        const uint8_t *row = w.nibbles + j * ek_w4_row(k), *multiplier = w.group ? w.multipliers + j * groups : NULL;
        for (size_t i = 0; i < k; i += group) {
            const int32_t m = multiplier ? *multiplier++ : 1;
            to = ek_w4_unpack_run(to, row, i, k - i < group ? k : i + group, m);
        }
    }
}

static void unpack_taps(int8_t *to, ek_coded *w, size_t n)
{
    const size_t groups = ek_w4_groups(w->k, w->group);
    const uint8_t *row = w->data;
    for (size_t t = 0; t < w->k; t++, row += ek_w4_row(n))
        for (size_t j = 0; j < n; j++) {
            const int32_t m = w->group ? w->auxiliary[j * groups + t / w->group] : 1;
            *to++ = (int8_t)(ek_w4_at(row, j) * m);
        }
}

static void row_s8(const ek_kernels *kernels, int8_t *out, const int8_t *a, const ek_coded *coded, const ek_requant *r,
                   uint32_t n)
{
    const ek_w4 w = channels_from(coded, 0);
    kernels->row_w4(out, a, &w, r, n);
}

static void row_s16(const ek_kernels *kernels, int16_t *out, const int16_t *a, const ek_coded *coded,
                    const ek_requant16 *r, uint32_t n)
{
    const ek_w4 w = channels_from(coded, 0);
    kernels->row_w4_s16(out, a, &w, r, n);
}

/* Also of a table that only plans for kernels that do. */
static bool packs_s8(const ek_kernels *kernels)
{
    return kernels->gemm_w4_block;
}

static void pack_s8(const ek_kernels *kernels, void *packed, const ek_coded *coded, size_t first, const int32_t *bias,
                    uint32_t n)
{
    const ek_w4 w = channels_from(coded, first);
    kernels->unpack_gemm_w4(packed, &w, bias, n);
}

const ek_codec ek_codec_nibbles = {
    .id = EK_WEIGHT_CODEC_NIBBLES,
    .check = nibbles_check,
    .unpack = unpack,
    .unpack_taps = unpack_taps,
    .row_s8 = row_s8,
    .row_s16 = row_s16,
    .packs_s8 = packs_s8,
    .pack_s8 = pack_s8,
};
