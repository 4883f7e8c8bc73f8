/* add_s16, mul_s16, lut_s16 and channel_lut_s16: every count, both steps of b, in place on either input. */
#include <string.h>

#include "check_s16.h"

static void range(int32_t *qmin, int32_t *qmax)
{
    const int32_t a = rnd_between(-32768, 32767), b = rnd_between(-32768, 32767);
    *qmin = rnd() & 1 ? INT16_MIN : a < b ? a : b;
    *qmax = a < b ? b : a;
}

/* Multipliers within 2^23, together too, and shifts by which results are around the range of int16. */
static ek_add_s16 add_make(void)
{
    const int32_t limit = 1 << 23, ma = rnd_between(-limit, limit), room = limit - (ma < 0 ? -ma : ma);
    const int32_t bits = rnd_between(0, 23);
    ek_add_s16 p = { .a_multiplier = ma / (1 << bits),
                     .b_multiplier = (rnd() & 1 ? room : rnd_between(-room, room)) / (1 << bits),
                     .shift = rnd() & 3 ? rnd_between(23 - bits < 1 ? 1 : 23 - bits, 25) : rnd_between(1, 40) };
    range(&p.qmin, &p.qmax);
    return p;
}

/* Products of two int16 that come to results around the range of int16, and any shift. */
static ek_mul_s16 mul_make(void)
{
    const uint32_t pick = rnd() % 8;
    ek_mul_s16 p = { .multiplier = pick == 0   ? 1 << 22
                                   : pick == 1 ? (1 << 23) - 1
                                               : rnd_between(1 << 22, (1 << 23) - 1),
                     .shift = (uint32_t)(rnd() & 3 ? rnd_between(30, 40) : rnd_between(1, 62)) };
    range(&p.qmin, &p.qmax);
    return p;
}

typedef struct terms {
    ek_add_s16 add;
    ek_mul_s16 mul;
} terms;

typedef void binary_fn(const ek_kernels *kernels, int16_t *out, const int16_t *a, const int16_t *b, size_t b_step,
                       size_t count, const terms *t);

static void add(const ek_kernels *kernels, int16_t *out, const int16_t *a, const int16_t *b, size_t b_step,
                size_t count, const terms *t)
{
    kernels->add_s16(out, a, b, b_step, count, &t->add);
}

static void mul(const ek_kernels *kernels, int16_t *out, const int16_t *a, const int16_t *b, size_t b_step,
                size_t count, const terms *t)
{
    kernels->mul_s16(out, a, b, b_step, count, &t->mul);
}

static bool try_binary(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial, const char *slot, binary_fn *fn)
{
    const uint32_t count = rnd() & 1 ? 1 + trial % 300 : 1 + rnd() % 80, b_step = rnd() & 1, in_place = rnd() % 3;
    block a = inputs(count), b = inputs(b_step ? count : 1);
    const terms t = { add_make(), mul_make() };
    output outs[2] = { output_make(count * 2, 2), output_make(count * 2, 2) };
    const ek_kernels *tables[2] = { ref, opt };
    for (int i = 0; i < 2; i++) {
        int16_t *const out = (int16_t *)outs[i].data;
        const int16_t *x = a.data, *y = b.data;
        if (in_place == 1) x = memcpy(out, x, count * 2);
        if (in_place == 2 && b_step) y = memcpy(out, y, count * 2);
        fn(tables[i], out, x, y, b_step, count, &t);
    }
    char sizes[80];
    snprintf(sizes, sizeof sizes, "count %" PRIu32 " b_step %" PRIu32 " in place %" PRIu32, count, b_step, in_place);
    const bool same = !differs(&outs[0], &outs[1], slot, opt, trial, sizes);
    output_free(outs[0]), output_free(outs[1]);
    block_free(a), block_free(b);
    return same;
}

bool check_add_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    bool same = true;
    for (uint32_t t = 0; opt->add_s16 != ref->add_s16 && t < check_trials && same; t++)
        same = try_binary(ref, opt, t, "add_s16", add);
    return same;
}

bool check_mul_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    bool same = true;
    for (uint32_t t = 0; opt->mul_s16 != ref->mul_s16 && t < check_trials && same; t++)
        same = try_binary(ref, opt, t, "mul_s16", mul);
    return same;
}

static bool try_lut(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const uint32_t count = rnd() & 1 ? 1 + trial % 300 : 1 + rnd() % 80, in_place = rnd() & 1;
    block in = inputs(count), points = inputs(513);
    output outs[2] = { output_make(count * 2, 2), output_make(count * 2, 2) };
    const ek_kernels *tables[2] = { ref, opt };
    for (int i = 0; i < 2; i++) {
        int16_t *const out = (int16_t *)outs[i].data;
        tables[i]->lut_s16(out, in_place ? memcpy(out, in.data, count * 2) : in.data, count, points.data);
    }
    const bool same = !differs(&outs[0], &outs[1], "lut_s16", opt, trial, in_place ? "in place" : "apart");
    output_free(outs[0]), output_free(outs[1]);
    block_free(in), block_free(points);
    return same;
}

bool check_lut_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    bool same = true;
    for (uint32_t t = 0; opt->lut_s16 != ref->lut_s16 && t < check_trials && same; t++) same = try_lut(ref, opt, t);
    return same;
}

/* Channels of one table, of runs of tables, and of any; the last tables may be no one's. */
static bool try_channel_lut(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const uint32_t channels = trial % 3 ? 1 + trial / 3 % 140 : 1 + rnd() % 300, rows = 1 + rnd() % 20;
    const uint32_t count = rnd() % 8 ? 1 + rnd() % 9 : 1 + rnd() % 256, in_place = rnd() & 1;
    const uint32_t run = rnd() % 3 == 0 ? channels : rnd() & 1 ? 1 : 1 + rnd() % 40;
    const size_t numbers = (size_t)rows * channels;
    block in = inputs(numbers), tables = inputs((size_t)count * 513), index = block_make(channels, 1);
    uint8_t *of = index.data;
    for (uint32_t c = 0; c < channels; c++)
        of[c] = c % run ? of[c - 1] : (uint8_t)(rnd() & 3 ? rnd() % count : count - 1);
    const ek_channel_lut_s16 p = { channels, count, of, tables.data };
    output outs[2] = { output_make(numbers * 2, 2), output_make(numbers * 2, 2) };
    const ek_kernels *kernels[2] = { ref, opt };
    for (int i = 0; i < 2; i++) {
        int16_t *const out = (int16_t *)outs[i].data;
        kernels[i]->channel_lut_s16(out, in_place ? memcpy(out, in.data, numbers * 2) : in.data, rows, &p);
    }
    char sizes[80];
    snprintf(sizes, sizeof sizes, "rows %" PRIu32 " channels %" PRIu32 " in place %" PRIu32, rows, channels, in_place);
    const bool same = !differs(&outs[0], &outs[1], "channel_lut_s16", opt, trial, sizes);
    output_free(outs[0]), output_free(outs[1]);
    block_free(in), block_free(tables), block_free(index);
    return same;
}

bool check_channel_lut_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    bool same = true;
    for (uint32_t t = 0; opt->channel_lut_s16 != ref->channel_lut_s16 && t < check_trials && same; t++)
        same = try_channel_lut(ref, opt, t);
    return same;
}

enum { BENCH_COUNT = 6272, BENCH_CHANNELS = 56, BENCH_TABLES = 4 };

typedef struct bench_state {
    const ek_kernels *kernels;
    const int16_t *a, *b, *tables;
    const uint8_t *index;
    int16_t *out;
    terms terms;
} bench_state;

static void run_add(void *context)
{
    const bench_state *s = context;
    s->kernels->add_s16(s->out, s->a, s->b, 1, BENCH_COUNT, &s->terms.add);
}

static void run_mul(void *context)
{
    const bench_state *s = context;
    s->kernels->mul_s16(s->out, s->a, s->b, 1, BENCH_COUNT, &s->terms.mul);
}

static void run_lut(void *context)
{
    const bench_state *s = context;
    s->kernels->lut_s16(s->out, s->a, BENCH_COUNT, s->tables);
}

static void run_channel_lut(void *context)
{
    const bench_state *s = context;
    const ek_channel_lut_s16 p = { BENCH_CHANNELS, BENCH_TABLES, s->index, s->tables };
    s->kernels->channel_lut_s16(s->out, s->a, BENCH_COUNT / BENCH_CHANNELS, &p);
}

void bench_elementwise_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    static const struct {
        const char *slot;
        void (*run)(void *);
    } slots[] = {
        { "add_s16", run_add }, { "mul_s16", run_mul }, { "lut_s16", run_lut }, { "channel_lut_s16", run_channel_lut }
    };
    block a = inputs(BENCH_COUNT), b = inputs(BENCH_COUNT), tables = inputs(513 * BENCH_TABLES);
    block out = block_make(BENCH_COUNT * 2, 2), index = block_make(BENCH_CHANNELS, 1);
    for (int c = 0; c < BENCH_CHANNELS; c++) ((uint8_t *)index.data)[c] = (uint8_t)(c % BENCH_TABLES);
    const terms t = { { 1 << 22, 1 << 21, 22, -32767, 32767 }, { 5000000, 36, -32767, 32767 } };
    const ek_kernels *kernels[2] = { ref, opt };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        double took[2];
        for (int k = 0; k < 2; k++) {
            bench_state s = { kernels[k], a.data, b.data, tables.data, index.data, out.data, t };
            took[k] = seconds_per_call(slots[i].run, &s);
        }
        bench_line(slots[i].slot, "6272", opt->name, BENCH_COUNT, took[0], took[1], "G/s");
    }
    block_free(a), block_free(b), block_free(tables), block_free(out), block_free(index);
}
