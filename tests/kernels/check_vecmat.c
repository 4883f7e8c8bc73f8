/* vecmat_s8: every n and k, either order of b, zero points at the ends of their range. */
#include <inttypes.h>
#include <stdio.h>

#include "check.h"

typedef struct shape {
    uint32_t n, k;
} shape;

static shape pick_shape(uint32_t t)
{
    shape s = { 1 + rnd() % 72, 1 + rnd() % 80 };
    switch (t % 3) {
    case 0: s.n = 1 + t / 3 % 140; break;
    case 1: s.k = 1 + t / 3 % 140; break;
    default:
        if (t % 48 == 2) s.k = 500 + rnd() % 1100;
    }
    return s;
}

/* Offsets at times as large as they may be, to either side. */
static int32_t offset_and_bound(int64_t *bound, const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m)
{
    const size_t across = m->turned ? m->k : 1, along = m->turned ? 1 : m->n;
    int32_t lo = 0, hi = 0;
    for (uint32_t j = 0; j < m->n; j++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < m->k; i++) sum += a[i] * b[j * across + i * along];
        lo = sum < lo ? sum : lo;
        hi = sum > hi ? sum : hi;
    }
    const int32_t most = (1 << 30) - 1 - hi, least = -(1 << 30) + 1 - lo, kind = (int32_t)(rnd() % 6);
    const int32_t offset = kind == 0 ? most : kind == 1 ? least : rnd_between(-5000, 5000);
    const int64_t up = (int64_t)offset + hi, down = -((int64_t)offset + lo);
    *bound = up > down ? up : down;
    return offset;
}

static bool try_vecmat(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const shape s = pick_shape(trial);
    block a = block_make((size_t)s.k * 2, 2), b = block_make((size_t)s.n * s.k, 1);
    int16_t *const row = a.data;
    const int32_t zero = rnd_between(-128, 127), extreme = rnd() % 4 == 0;
    for (uint32_t i = 0; i < s.k; i++)
        row[i] = (int16_t)((extreme ? (rnd() & 1 ? 127 : -128) : rnd_between(-128, 127)) - zero);
    fill_s8(b.data, (size_t)s.n * s.k);
    ek_vecmat_s8 m = { .b = b.data, .n = s.n, .k = s.k, .turned = rnd() & 1 };
    int64_t bound;
    m.offset = offset_and_bound(&bound, row, b.data, &m);
    const requant_data q = requant_make(&bound, 1);
    m.multiplier = *(const int32_t *)q.multiplier.data;
    m.shift = *(const int8_t *)q.shift.data;
    m.zero_point = q.zero_point, m.qmin = q.qmin, m.qmax = q.qmax;
    output want = output_make(s.n, 1), got = output_make(s.n, 1);
    ref->vecmat_s8((int8_t *)want.data, row, &m);
    opt->vecmat_s8((int8_t *)got.data, row, &m);
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same)
        printf("vecmat_s8 of %s differs in trial %" PRIu32 ": n %" PRIu32 " k %" PRIu32 "%s, at element %ld\n",
               opt->name, trial, s.n, s.k, m.turned ? " turned" : "", (long)where);
    output_free(want), output_free(got);
    block_free(a), block_free(b);
    requant_free(q);
    return same;
}

bool check_vecmat_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->vecmat_s8 == ref->vecmat_s8) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_vecmat(ref, opt, t)) return false;
    return true;
}
