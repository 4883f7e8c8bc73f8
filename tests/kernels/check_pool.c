/* sum_s8, max_s8 and copy: every channel count, long and short columns, steps wider than the channels. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

typedef struct shape {
    size_t count, c, step;
} shape;

static shape pick_shape(uint32_t t)
{
    shape s = { rnd() % 12, 1 + rnd() % 200, 0 };
    if (t % 3 == 0) s.c = 1 + t / 3 % 200;
    if (t % 3 == 1) s.count = t / 3 % 60;
    if (t % 16 == 2) s.count = 250 + rnd() % 600; /* beyond what 16-bit sums hold */
    s.step = s.c + (rnd() & 1 ? 0 : rnd() % 70);
    return s;
}

static block input(const shape *s)
{
    const size_t bytes = s->count ? (s->count - 1) * s->step + s->c : 0;
    block b = block_make(bytes, 1);
    fill_s8(b.data, bytes);
    return b;
}

static bool compare(const char *slot, const ek_kernels *opt, uint32_t trial, const shape *s, output want, output got)
{
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same)
        printf("%s of %s differs in trial %" PRIu32 ": count %lu c %lu step %lu, at byte %ld\n", slot, opt->name, trial,
               (unsigned long)s->count, (unsigned long)s->c, (unsigned long)s->step, (long)where);
    output_free(want), output_free(got);
    return same;
}

static bool try_sum(const ek_kernels *ref, const ek_kernels *opt, uint32_t t)
{
    const shape s = pick_shape(t);
    block in = input(&s);
    output want = output_make(s.c * 4, 4), got = output_make(s.c * 4, 4);
    for (size_t j = 0; j < s.c; j++) {
        const int32_t start = rnd() & 1 ? 0 : rnd_between(-2000000000, 2000000000);
        memcpy(want.data + j * 4, &start, 4);
        memcpy(got.data + j * 4, &start, 4);
    }
    ref->sum_s8((int32_t *)want.data, in.data, s.step, s.count, s.c);
    opt->sum_s8((int32_t *)got.data, in.data, s.step, s.count, s.c);
    block_free(in);
    return compare("sum_s8", opt, t, &s, want, got);
}

static bool try_max(const ek_kernels *ref, const ek_kernels *opt, uint32_t t)
{
    const shape s = pick_shape(t);
    block in = input(&s);
    output want = output_make(s.c, 1), got = output_make(s.c, 1);
    if (rnd() & 1) {
        memset(want.data, 0x80, s.c);
        memset(got.data, 0x80, s.c);
    }
    ref->max_s8((int8_t *)want.data, in.data, s.step, s.count, s.c);
    opt->max_s8((int8_t *)got.data, in.data, s.step, s.count, s.c);
    block_free(in);
    return compare("max_s8", opt, t, &s, want, got);
}

static bool try_copy(const ek_kernels *opt, uint32_t t)
{
    const shape s = pick_shape(t);
    block in = input(&s);
    const size_t to_step = s.c + rnd() % 9, bytes = s.count ? (s.count - 1) * to_step + s.c : 0;
    output want = output_make(bytes, 1), got = output_make(bytes, 1);
    for (size_t i = 0; i < s.count; i++) memcpy(want.data + i * to_step, (const uint8_t *)in.data + i * s.step, s.c);
    opt->copy(got.data, to_step, in.data, s.step, s.c, s.count);
    block_free(in);
    return compare("copy", opt, t, &s, want, got);
}

bool check_sum_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->sum_s8 == ref->sum_s8) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_sum(ref, opt, t)) return false;
    return true;
}

bool check_max_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->max_s8 == ref->max_s8) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_max(ref, opt, t)) return false;
    return true;
}

bool check_copy(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->copy == ref->copy) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_copy(opt, t)) return false;
    return true;
}

enum { BENCH_COUNT = 49, BENCH_C = 320 };

typedef struct bench_state {
    const ek_kernels *kernels;
    size_t count;
    int32_t acc[BENCH_C];
    int8_t out[BENCH_C], in[BENCH_COUNT * BENCH_C];
} bench_state;

static void run_sum(void *context)
{
    bench_state *s = context;
    memset(s->acc, 0, sizeof s->acc);
    s->kernels->sum_s8(s->acc, s->in, BENCH_C, s->count, BENCH_C);
}

static void run_max(void *context)
{
    bench_state *s = context;
    s->kernels->max_s8(s->out, s->in, BENCH_C, s->count, BENCH_C);
}

static double bench_one(void (*fn)(void *), const ek_kernels *kernels, size_t count)
{
    static bench_state s;
    s.kernels = kernels;
    s.count = count;
    fill_s8(s.in, sizeof s.in);
    return seconds_per_call(fn, &s);
}

void bench_pool(const ek_kernels *ref, const ek_kernels *opt)
{
    static const size_t counts[] = { 2, BENCH_COUNT };
    for (int i = 0; i < 2; i++) {
        char text[32];
        snprintf(text, sizeof text, "%lux%d", (unsigned long)counts[i], (int)BENCH_C);
        const double work = (double)counts[i] * BENCH_C;
        bench_line("sum_s8", text, opt->name, work, bench_one(run_sum, ref, counts[i]),
                   bench_one(run_sum, opt, counts[i]), "G/s");
        bench_line("max_s8", text, opt->name, work, bench_one(run_max, ref, counts[i]),
                   bench_one(run_max, opt, counts[i]), "G/s");
    }
}
