/* What the operators with weights of 4 bits share. */
#include "ops/heavy_checks.h"
#include "ops/w4.h"

bool ek_check_w4(const ek_node *node, uint32_t weights, uint64_t rows, uint64_t count, uint32_t group,
                 uint32_t multipliers, uint64_t n, uint64_t k)
{
    if (k > UINT32_MAX || ek_mul64(rows, count) >= UINT64_C(1) << 30) return false; /* twice as int8 has a size */
    const uint32_t k32 = (uint32_t)k, groups = group ? k32 / group + (k32 % group != 0) : 0; /* no long division */
    const uint64_t total = ek_mul64(n, groups);
    if (!ek_check_blob(node, weights, ek_mul64(rows, count / 2 + count % 2), 1) ||
        !ek_check_blob(node, multipliers, total, 1))
        return false;
    const uint8_t *multiplier = ek_blob(node, multipliers);
    for (uint64_t i = 0; i < total; i++)
        if (multiplier[i] - 1u >= EK_W4_MULTIPLIER) return false;
    return true;
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

void ek_w4_unpack(int8_t *to, const ek_w4 *w, size_t first, size_t n)
{
    const size_t k = w->k, group = w->group ? w->group : k, groups = ek_w4_groups(k, w->group);
    for (size_t j = first; j < first + n; j++) {
        const uint8_t *row = w->nibbles + j * ek_w4_row(k), *multiplier = w->multipliers + j * groups;
        for (size_t i = 0; i < k; i += group) {
            const int32_t m = w->group ? *multiplier++ : 1;
            to = ek_w4_unpack_run(to, row, i, k - i < group ? k : i + group, m);
        }
    }
}
