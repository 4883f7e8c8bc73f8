#include "model/requant_table.h"

#ifdef EK_NO_PACKERS
ek_status ek_check_tight(const ek_node *node, const ek_table *t)
{
    (void)node, (void)t;
    return EK_ERR_UNSUPPORTED;
}
#else
enum { MOST_BIAS_BITS = 32, MOST_SHIFT_BITS = 6, MOST_ONCE = 12 };

/* ek_fmt_requant.tight, decoded. */
typedef struct sizes {
    uint32_t bias_bits, shift_bits, multiplier_bits; /* multipliers: below the highest one, which is 1 */
    int32_t shift_base;
} sizes;

static sizes tight_sizes(const ek_table *t)
{
    const uint32_t tight = t->requant->tight;
    return (sizes){ tight & 63, tight >> 6 & 7, tight >> 16, (int32_t)(tight >> 9 & 127) - 64 };
}

static uint64_t saturated_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

ek_status ek_check_tight(const ek_node *node, const ek_table *t)
{
    const sizes s = tight_sizes(t);
    if (!s.bias_bits || s.bias_bits > MOST_BIAS_BITS || s.shift_bits > MOST_SHIFT_BITS ||
        s.multiplier_bits >= t->width || s.shift_base < t->least_shift || s.shift_base > t->most_shift)
        return EK_ERR_CORRUPT;
    const uint64_t bits =
        saturated_sum(ek_mul64(t->biases, s.bias_bits), ek_mul64(t->n, s.multiplier_bits + s.shift_bits));
    return ek_check_blob(node, t->requant->table, bits / 8 + (bits % 8 != 0), 1) ? EK_OK : EK_ERR_CORRUPT;
}

uint64_t ek_widened_bytes(const ek_table *t)
{
    return t->requant->tight ? (t->biases + t->n) * sizeof(int32_t) + t->n : 0;
}

/* `count` bits from bit `at` on, at most 32. */
static uint32_t bits_at(const uint8_t *data, uint64_t at, uint32_t count)
{
    const uint8_t *from = data + at / 8;
    const uint32_t skip = at % 8, bytes = (skip + count + 7) / 8;
    uint64_t found = 0;
    for (uint32_t i = 0; i < bytes; i++) found |= (uint64_t)from[i] << 8 * i;
    return (uint32_t)(found >> skip & ((UINT64_C(1) << count) - 1));
}

void ek_widen_table(void *to, const ek_node *node, const ek_table *t)
{
    const sizes s = tight_sizes(t);
    const uint8_t *const data = ek_blob(node, t->requant->table);
    const uint32_t half = UINT32_C(1) << (s.bias_bits - 1);
    int32_t *word = to;
    uint64_t at = 0;
    for (uint64_t i = 0; i < t->biases; i++, at += s.bias_bits)
        *word++ = (int32_t)((bits_at(data, at, s.bias_bits) ^ half) - half);
    int8_t *shift = (int8_t *)(word + t->n);
    uint64_t shift_at = at + t->n * s.multiplier_bits;
    for (uint64_t i = 0; i < t->n; i++, at += s.multiplier_bits, shift_at += s.shift_bits) {
        const uint32_t top = UINT32_C(1) << s.multiplier_bits, below = bits_at(data, at, s.multiplier_bits);
        uint32_t multiplier = (top | below) << (t->width - 1 - s.multiplier_bits);
        int32_t exponent = s.shift_base + (int32_t)bits_at(data, shift_at, s.shift_bits);
        if (exponent > t->most_shift) exponent = t->most_shift;
        if (exponent < 0 && exponent >= -MOST_ONCE) { /* int8's that are rounded once */
            multiplier >>= -exponent;
            exponent = 0;
        }
        *word++ = (int32_t)multiplier;
        *shift++ = (int8_t)exponent;
    }
}
#endif
