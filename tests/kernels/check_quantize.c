/* quantize_f32_s8 and quantize_f32_s16: every count; quotients at, and one unit beside, halves; any bits. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Positive: usual ones, powers of two, with all bits of the fraction set, and any at all. */
static float any_scale(void)
{
    const uint32_t usual = (uint32_t)rnd_between(100, 140) << 23, pick = rnd() % 8;
    if (pick < 4) return from_bits(usual | rnd() >> 9);
    if (pick < 6) return from_bits(pick == 4 ? usual : usual | 0x7fffff);
    return from_bits(1 + rnd() % 0x7f800000); /* subnormal to infinite */
}

static float any_x(float scale, int32_t most)
{
    static const uint32_t special[] = { 0,          0x80000000, 1,          0x80000001, 0x7fffff,
                                        0x800000,   0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
                                        0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff };
    switch (rnd() % 8) {
    case 0: return from_bits(rnd());
    case 1: return from_bits(special[rnd() % (sizeof special / sizeof *special)]);
    case 2: return (float)rnd_between(-most, most) * scale;
    case 3: return (float)rnd_between(-1000000, 1000000) * (1e-6f * (float)most) * scale;
    default: {
        const float half = ((float)rnd_between(-most, most) + 0.5f) * scale;
        return from_bits(bits_of(half) + (uint32_t)rnd_between(-2, 2));
    }
    }
}

static void fill(float *x, size_t count, float scale, int32_t most)
{
    for (size_t i = 0; i < count; i++) x[i] = any_x(scale, most);
}

static int32_t any_zero(void)
{
    return rnd() & 1 ? rnd_between(-128, 127) : rnd() & 1 ? -128 : 127;
}

static bool compare(const char *slot, const ek_kernels *opt, uint32_t trial, size_t count, float scale, output want,
                    output got)
{
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same)
        printf("%s of %s differs in trial %" PRIu32 ": count %lu scale %08lx, at byte %ld\n", slot, opt->name, trial,
               (unsigned long)count, (unsigned long)bits_of(scale), (long)where);
    output_free(want), output_free(got);
    return same;
}

static bool try_s8(const ek_kernels *ref, const ek_kernels *opt, uint32_t t)
{
    const size_t count = t % 3 ? t / 3 % 140 : rnd() % 600;
    const float scale = any_scale();
    const int32_t zero = any_zero();
    block x = block_make(count * sizeof(float), sizeof(float));
    fill(x.data, count, scale, 260);
    output want = output_make(count, 1), got = output_make(count, 1);
    ref->quantize_f32_s8((int8_t *)want.data, x.data, count, scale, zero);
    opt->quantize_f32_s8((int8_t *)got.data, x.data, count, scale, zero);
    block_free(x);
    return compare("quantize_f32_s8", opt, t, count, scale, want, got);
}

static bool try_s16(const ek_kernels *ref, const ek_kernels *opt, uint32_t t)
{
    const size_t count = t % 3 ? t / 3 % 140 : rnd() % 600;
    const float scale = any_scale();
    block x = block_make(count * sizeof(float), sizeof(float));
    fill(x.data, count, scale, 32770);
    output want = output_make(count * 2, 2), got = output_make(count * 2, 2);
    ref->quantize_f32_s16((int16_t *)want.data, x.data, count, scale);
    opt->quantize_f32_s16((int16_t *)got.data, x.data, count, scale);
    block_free(x);
    return compare("quantize_f32_s16", opt, t, count, scale, want, got);
}

bool check_quantize_f32_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->quantize_f32_s8 == ref->quantize_f32_s8) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_s8(ref, opt, t)) return false;
    return true;
}

bool check_quantize_f32_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->quantize_f32_s16 == ref->quantize_f32_s16) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_s16(ref, opt, t)) return false;
    return true;
}

enum { BENCH_COUNT = 6272 };

typedef struct bench_state {
    const ek_kernels *kernels;
    float x[BENCH_COUNT];
    int16_t q[BENCH_COUNT];
} bench_state;

static void run_s8(void *context)
{
    bench_state *s = context;
    s->kernels->quantize_f32_s8((int8_t *)s->q, s->x, BENCH_COUNT, 0.0123f, 3);
}

static void run_s16(void *context)
{
    bench_state *s = context;
    s->kernels->quantize_f32_s16(s->q, s->x, BENCH_COUNT, 0.0123f);
}

static double seconds(const ek_kernels *kernels, void (*run)(void *))
{
    static bench_state s;
    s.kernels = kernels;
    fill_f32(s.x, BENCH_COUNT);
    return seconds_per_call(run, &s);
}

void bench_quantize_f32(const ek_kernels *ref, const ek_kernels *opt)
{
    bench_line("quantize_s8", "6272", opt->name, BENCH_COUNT, seconds(ref, run_s8), seconds(opt, run_s8), "G/s");
    bench_line("quantize_s16", "6272", opt->name, BENCH_COUNT, seconds(ref, run_s16), seconds(opt, run_s16), "G/s");
}
