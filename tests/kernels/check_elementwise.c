/* add_s8, mul_s8, lut_s8, channel_lut_s8 and prelu_s8: every count, both steps of b, in place on either input. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

typedef enum place { APART, ON_A, ON_B } place;

typedef void (*binary_fn)(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count,
                          const void *params);

typedef struct binary_trial {
    size_t count, b_step;
    place place;
    block a, b;
} binary_trial;

static binary_trial binary_make(uint32_t t)
{
    binary_trial s = { t % 3 ? t / 3 % 300 : rnd() % 2000, rnd() & 1, APART, { 0 }, { 0 } };
    const uint32_t pick = rnd() % 3;
    s.place = pick == 0 ? APART : pick == 1 || !s.b_step ? ON_A : ON_B;
    s.a = block_make(s.count, 1);
    s.b = block_make(s.b_step ? s.count : 1, 1);
    fill_s8(s.a.data, s.count);
    fill_s8(s.b.data, s.b_step ? s.count : 1);
    return s;
}

/* One run of `fn` into a guarded output; in place it first becomes a copy of the input. */
static output binary_run(const binary_trial *s, binary_fn fn, const void *params)
{
    output out = output_make(s->count, 1);
    const int8_t *a = s->a.data, *b = s->b.data;
    if (s->place != APART) memcpy(out.data, s->place == ON_A ? a : b, s->count);
    if (s->place == ON_A) a = (const int8_t *)out.data;
    if (s->place == ON_B) b = (const int8_t *)out.data;
    fn((int8_t *)out.data, a, b, s->b_step, s->count, params);
    return out;
}

static bool binary_compare(const char *slot, const ek_kernels *opt, uint32_t trial, const binary_trial *s, output want,
                           output got)
{
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same)
        printf("%s of %s differs in trial %" PRIu32 ": count %lu b_step %lu place %d, at element %ld\n", slot,
               opt->name, trial, (unsigned long)s->count, (unsigned long)s->b_step, (int)s->place, (long)where);
    output_free(want), output_free(got);
    return same;
}

static void range(int32_t *qmin, int32_t *qmax)
{
    const int32_t a = rnd_between(-128, 127), b = rnd_between(-128, 127);
    const bool whole = rnd() & 1;
    *qmin = whole ? -128 : a < b ? a : b;
    *qmax = whole ? 127 : a < b ? b : a;
}

/* Anything that docs/arithmetic.md allows, to the edge of |a * ma + b * mb + c| < 2^31. */
static ek_add_s8 add_params(void)
{
    ek_add_s8 p = { 0 };
    const int32_t limit = 1 << (1 + rnd() % 22);
    p.a_multiplier = rnd_between(-limit, limit);
    const int32_t left = limit - (p.a_multiplier < 0 ? -p.a_multiplier : p.a_multiplier);
    p.b_multiplier = rnd() & 1 ? rnd_between(-left, left) : left;
    const int32_t room = INT32_MAX - 128 * limit;
    p.bias = rnd() % 3 ? rnd_between(-128 * limit, 128 * limit) : rnd() & 1 ? room : -room;
    p.shift = rnd() & 1 ? rnd_between(0, 30) : rnd_between(10, 22);
    range(&p.qmin, &p.qmax);
    return p;
}

typedef struct add_call {
    const ek_kernels *kernels;
    ek_add_s8 params;
} add_call;

static void call_add(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const void *params)
{
    const add_call *c = params;
    c->kernels->add_s8(out, a, b, b_step, count, &c->params);
}

bool check_add_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->add_s8 == ref->add_s8) return true;
    bool same = true;
    for (uint32_t t = 0; t < check_trials && same; t++) {
        binary_trial s = binary_make(t);
        const ek_add_s8 p = add_params();
        same = binary_compare("add_s8", opt, t, &s, binary_run(&s, call_add, &(add_call){ ref, p }),
                              binary_run(&s, call_add, &(add_call){ opt, p }));
        block_free(s.a), block_free(s.b);
    }
    return same;
}

typedef struct mul_call {
    const ek_kernels *kernels;
    ek_mul_s8 params;
} mul_call;

static void call_mul(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const void *params)
{
    const mul_call *c = params;
    c->kernels->mul_s8(out, a, b, b_step, count, &c->params);
}

/* |(a - a_zero) * (b - b_zero)| <= 255 * 255 < 2^16, so left shifts go up to 14. */
static ek_mul_s8 mul_params(void)
{
    ek_mul_s8 p = { 0 };
    p.a_zero = rnd() & 1 ? rnd_between(-128, 127) : (rnd() & 1 ? -128 : 127);
    p.b_zero = rnd() & 1 ? rnd_between(-128, 127) : (rnd() & 1 ? -128 : 127);
    p.zero_point = rnd_between(-128, 127);
    const uint32_t pick = rnd() % 6;
    p.multiplier = pick == 0 ? 1 << 30 : pick == 1 ? INT32_MAX : rnd_between(pick == 2 ? 1 : 1 << 30, INT32_MAX);
    p.shift = rnd() & 1 ? rnd_between(-30, 14) : rnd_between(-12, 0);
    range(&p.qmin, &p.qmax);
    return p;
}

bool check_mul_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->mul_s8 == ref->mul_s8) return true;
    bool same = true;
    for (uint32_t t = 0; t < check_trials && same; t++) {
        binary_trial s = binary_make(t);
        const ek_mul_s8 p = mul_params();
        same = binary_compare("mul_s8", opt, t, &s, binary_run(&s, call_mul, &(mul_call){ ref, p }),
                              binary_run(&s, call_mul, &(mul_call){ opt, p }));
        block_free(s.a), block_free(s.b);
    }
    return same;
}

typedef struct lut_call {
    const ek_kernels *kernels;
    const int8_t *table;
} lut_call;

static void call_lut(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const void *params)
{
    (void)b, (void)b_step;
    const lut_call *c = params;
    c->kernels->lut_s8(out, a, count, c->table);
}

bool check_lut_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->lut_s8 == ref->lut_s8) return true;
    bool same = true;
    for (uint32_t t = 0; t < check_trials && same; t++) {
        binary_trial s = binary_make(t);
        if (s.place == ON_B) s.place = ON_A;
        block table = block_make(256, 1);
        for (int i = 0; i < 256; i++) ((int8_t *)table.data)[i] = (int8_t)rnd();
        same = binary_compare("lut_s8", opt, t, &s, binary_run(&s, call_lut, &(lut_call){ ref, table.data }),
                              binary_run(&s, call_lut, &(lut_call){ opt, table.data }));
        block_free(s.a), block_free(s.b), block_free(table);
    }
    return same;
}

typedef struct channel_lut_trial {
    size_t rows;
    ek_channel_lut_s8 p;
    bool in_place;
    block in, index, tables;
} channel_lut_trial;

/* Channels of one table, of runs of tables, and of any; the last tables may be no one's. */
static channel_lut_trial channel_lut_make(uint32_t t)
{
    channel_lut_trial s = { .in_place = rnd() & 1 };
    s.p.channels = t % 3 ? 1 + t / 3 % 140 : rnd() % 4 ? 1 + rnd() % 300 : 1000 + rnd() % 100;
    s.p.count = rnd() % 8 ? 1 + rnd() % 9 : 1 + rnd() % 256;
    s.rows = 1 + rnd() % (t % 4 ? 20 : 1 + 8192 / s.p.channels);
    s.in = block_make(s.rows * s.p.channels, 1);
    s.index = block_make(s.p.channels, 1);
    s.tables = block_make(256 * (size_t)s.p.count, 1);
    fill_s8(s.in.data, s.rows * s.p.channels);
    for (size_t i = 0; i < 256 * (size_t)s.p.count; i++) ((int8_t *)s.tables.data)[i] = (int8_t)rnd();
    const uint32_t run = rnd() % 3 == 0 ? s.p.channels : rnd() & 1 ? 1 : 1 + rnd() % 40;
    uint8_t *index = s.index.data;
    for (uint32_t c = 0; c < s.p.channels; c++)
        index[c] = c % run ? index[c - 1] : (uint8_t)(rnd() & 3 ? rnd() % s.p.count : s.p.count - 1);
    s.p.index = index;
    s.p.tables = s.tables.data;
    return s;
}

static output channel_lut_run(const channel_lut_trial *s, const ek_kernels *kernels)
{
    const size_t bytes = s->rows * s->p.channels;
    output out = output_make(bytes, 1);
    if (s->in_place) memcpy(out.data, s->in.data, bytes);
    kernels->channel_lut_s8((int8_t *)out.data, s->in_place ? (const int8_t *)out.data : s->in.data, s->rows, &s->p);
    return out;
}

bool check_channel_lut_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->channel_lut_s8 == ref->channel_lut_s8) return true;
    bool same = true;
    for (uint32_t t = 0; t < check_trials && same; t++) {
        channel_lut_trial s = channel_lut_make(t);
        output want = channel_lut_run(&s, ref), got = channel_lut_run(&s, opt);
        ptrdiff_t where;
        same = output_equal(&want, &got, &where);
        if (!same)
            printf("channel_lut_s8 of %s differs in trial %" PRIu32 ": rows %lu channels %lu tables %lu, in place %d, "
                   "at element %ld\n",
                   opt->name, t, (unsigned long)s.rows, (unsigned long)s.p.channels, (unsigned long)s.p.count,
                   (int)s.in_place, (long)where);
        output_free(want), output_free(got);
        block_free(s.in), block_free(s.index), block_free(s.tables);
    }
    return same;
}

typedef struct prelu_trial {
    size_t rows;
    ek_prelu_s8 p;
    bool in_place;
    block in, slopes;
} prelu_trial;

/* Anything that docs/arithmetic.md allows; one channel is a row of its own. */
static prelu_trial prelu_make(uint32_t t)
{
    prelu_trial s = { .in_place = rnd() & 1 };
    s.p.channels = t % 4 ? 1 + t / 4 % 70 : 1;
    s.rows = t % 4 ? 1 + rnd() % 9 : 1 + t / 4 % 150;
    s.in = block_make(s.rows * s.p.channels, 1);
    fill_s8(s.in.data, s.rows * s.p.channels);
    s.slopes = block_make(s.p.channels * sizeof(int32_t), sizeof(int32_t));
    const int32_t limit = 1 << (rnd() & 1 ? 22 : rnd() % 23);
    for (uint32_t c = 0; c < s.p.channels; c++)
        ((int32_t *)s.slopes.data)[c] = rnd() % 8 ? rnd_between(-limit, limit) : rnd() & 1 ? limit : -limit;
    s.p.slopes = s.slopes.data;
    s.p.multiplier = rnd() % 4 ? rnd_between(-limit, limit) : limit;
    s.p.shift = rnd() & 1 ? rnd_between(1, 30) : rnd_between(10, 22);
    s.p.input_zero = rnd_between(-128, 127);
    s.p.zero_point = rnd_between(-128, 127);
    range(&s.p.qmin, &s.p.qmax);
    return s;
}

static output prelu_run(const prelu_trial *s, const ek_kernels *kernels)
{
    const size_t bytes = s->rows * s->p.channels;
    output out = output_make(bytes, 1);
    if (s->in_place) memcpy(out.data, s->in.data, bytes);
    kernels->prelu_s8((int8_t *)out.data, s->in_place ? (const int8_t *)out.data : s->in.data, s->rows, &s->p);
    return out;
}

bool check_prelu_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->prelu_s8 == ref->prelu_s8) return true;
    bool same = true;
    for (uint32_t t = 0; t < check_trials && same; t++) {
        prelu_trial s = prelu_make(t);
        output want = prelu_run(&s, ref), got = prelu_run(&s, opt);
        ptrdiff_t where;
        same = output_equal(&want, &got, &where);
        if (!same)
            printf("prelu_s8 of %s differs in trial %" PRIu32 ": rows %lu channels %lu, in place %d, at element %ld\n",
                   opt->name, t, (unsigned long)s.rows, (unsigned long)s.p.channels, (int)s.in_place, (long)where);
        output_free(want), output_free(got);
        block_free(s.in), block_free(s.slopes);
    }
    return same;
}

enum { BENCH_COUNT = 6272 };

typedef struct bench_state {
    binary_fn fn;
    const void *params;
    int8_t out[BENCH_COUNT], a[BENCH_COUNT], b[BENCH_COUNT];
} bench_state;

static void run_binary(void *context)
{
    bench_state *s = context;
    s->fn(s->out, s->a, s->b, 1, BENCH_COUNT, s->params);
}

static double bench_binary(binary_fn fn, const void *params)
{
    static bench_state s;
    s.fn = fn;
    s.params = params;
    fill_s8(s.a, BENCH_COUNT);
    fill_s8(s.b, BENCH_COUNT);
    return seconds_per_call(run_binary, &s);
}

enum { BENCH_CHANNELS = 56, BENCH_TABLES = 4 };

static void call_channel_lut(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count,
                             const void *params)
{
    (void)b, (void)b_step;
    const lut_call *c = params;
    uint8_t index[BENCH_CHANNELS];
    for (int i = 0; i < BENCH_CHANNELS; i++) index[i] = (uint8_t)(i % BENCH_TABLES);
    const ek_channel_lut_s8 p = { BENCH_CHANNELS, BENCH_TABLES, index, c->table };
    c->kernels->channel_lut_s8(out, a, count / BENCH_CHANNELS, &p);
}

static void call_prelu(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const void *params)
{
    (void)b, (void)b_step;
    const ek_kernels *kernels = params;
    int32_t slopes[BENCH_CHANNELS];
    for (int i = 0; i < BENCH_CHANNELS; i++) slopes[i] = i << 10;
    const ek_prelu_s8 p = { slopes, BENCH_CHANNELS, 3, 1 << 20, 20, -3, -128, 127 };
    kernels->prelu_s8(out, a, count / BENCH_CHANNELS, &p);
}

void bench_elementwise(const ek_kernels *ref, const ek_kernels *opt)
{
    const ek_add_s8 add = { 1 << 20, 1 << 19, 1 << 20, 20, -128, 127 };
    const ek_mul_s8 mul = { 3, -7, 1500000000, -8, 1, -128, 127 };
    static int8_t table[256 * BENCH_TABLES];
    bench_line("add_s8", "6272", opt->name, BENCH_COUNT, bench_binary(call_add, &(add_call){ ref, add }),
               bench_binary(call_add, &(add_call){ opt, add }), "G/s");
    bench_line("mul_s8", "6272", opt->name, BENCH_COUNT, bench_binary(call_mul, &(mul_call){ ref, mul }),
               bench_binary(call_mul, &(mul_call){ opt, mul }), "G/s");
    bench_line("lut_s8", "6272", opt->name, BENCH_COUNT, bench_binary(call_lut, &(lut_call){ ref, table }),
               bench_binary(call_lut, &(lut_call){ opt, table }), "G/s");
    bench_line("channel_lut_s8", "6272", opt->name, BENCH_COUNT,
               bench_binary(call_channel_lut, &(lut_call){ ref, table }),
               bench_binary(call_channel_lut, &(lut_call){ opt, table }), "G/s");
    bench_line("prelu_s8", "6272", opt->name, BENCH_COUNT, bench_binary(call_prelu, ref), bench_binary(call_prelu, opt),
               "G/s");
}
