/* depthwise_s8 and depthwise_f32: every channel count, tap count and pixel tail. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { TAPS = 160 };

typedef struct shape {
    uint32_t pixels, c, taps;
    size_t in_step, out_step;
} shape;

static shape pick_shape(uint32_t t)
{
    shape s = { 1 + rnd() % 20, 1 + rnd() % 72, rnd() & 1 ? 9 : 1 + rnd() % 30, 0, 0 };
    switch (t % 4) {
    case 0: s.pixels = 1 + t / 4 % 40; break;
    case 1: s.c = 1 + t / 4 % 200; break;
    case 2: s.taps = 1 + t / 4 % TAPS; break;
    default:
        if (t % 8 == 3) s.c = 1u << (rnd() % 8); /* powers of two invite special cases */
        if (t % 8 == 7) {                        /* few channels invite vectors of many pixels */
            s.c = 1 + rnd() % 6;
            s.pixels = 100 + rnd() % 170;
        }
    }
    s.in_step = rnd() & 1 ? s.c : rnd() & 1 ? 2 * s.c : s.c + rnd() % 9;
    s.out_step = rnd() & 1 ? s.c : s.c + rnd() % 9;
    return s;
}

static void report(const char *slot, const ek_kernels *opt, uint32_t trial, const shape *s, ptrdiff_t where)
{
    printf("%s of %s differs in trial %" PRIu32 ": pixels %" PRIu32 " c %" PRIu32 " taps %" PRIu32
           " in_step %lu out_step %lu, at element %ld\n",
           slot, opt->name, trial, s->pixels, s->c, s->taps, (unsigned long)s->in_step, (unsigned long)s->out_step,
           (long)where);
}

/* Each tap in an allocation of its own, or the same one again, as padding rows are. */
typedef struct inputs {
    block blocks[TAPS];
    uint32_t made;
} inputs;

static size_t tap_count(const shape *s)
{
    return (s->pixels - 1) * s->in_step + s->c;
}

/* A window of 3 x 3, as operators give it: each line in an allocation of its own. */
static void window_s8(inputs *in, const int8_t **taps, const shape *s)
{
    const size_t step = s->in_step % 2 == 0 && rnd() & 1 ? s->in_step / 2 : s->in_step;
    for (in->made = 0; in->made < 3; in->made++) {
        block b = in->blocks[in->made] = block_make(tap_count(s) + 2 * step, 1);
        fill_s8(b.data, tap_count(s) + 2 * step);
        for (size_t x = 0; x < 3; x++) taps[3 * in->made + x] = (const int8_t *)b.data + x * step;
    }
}

static void inputs_s8(inputs *in, const int8_t **taps, const shape *s)
{
    if (s->taps == 9 && rnd() & 1) {
        window_s8(in, taps, s);
        return;
    }
    for (uint32_t t = in->made = 0; t < s->taps; t++) {
        if (t && rnd() % 8 == 0) {
            taps[t] = taps[rnd() % t];
            continue;
        }
        block b = in->blocks[in->made++] = block_make(tap_count(s), 1);
        fill_s8(b.data, tap_count(s));
        taps[t] = b.data;
    }
}

static void inputs_f32(inputs *in, const float **taps, const shape *s)
{
    for (uint32_t t = in->made = 0; t < s->taps; t++) {
        block b = in->blocks[in->made++] = block_make(tap_count(s) * 4, 4);
        fill_f32(b.data, tap_count(s));
        taps[t] = b.data;
    }
}

static void inputs_free(const inputs *in)
{
    for (uint32_t i = 0; i < in->made; i++) block_free(in->blocks[i]);
}

static void bias_and_bound(int32_t *bias, int64_t *bound, const int8_t **taps, const int8_t *w, const shape *s)
{
    for (uint32_t j = 0; j < s->c; j++) {
        int32_t lo = 0, hi = 0, some = 0;
        for (uint32_t p = 0; p < s->pixels; p++) {
            int32_t d = 0;
            for (uint32_t t = 0; t < s->taps; t++) d += w[t * s->c + j] * taps[t][p * s->in_step + j];
            lo = d < lo ? d : lo;
            hi = d > hi ? d : hi;
            if (rnd() % (p + 1) == 0) some = d;
        }
        bias[j] = bias_between(lo, hi, some, 500, &bound[j]);
    }
}

/* What the table wants as weights: those of the file, or a packed copy. */
static block weights_s8(const ek_kernels *k, const ek_depthwise_s8 *d)
{
    const size_t plain = (size_t)d->taps * d->c;
    const size_t bytes = k->packed_depthwise_s8 ? k->packed_depthwise_s8(d->taps, d->c) : plain;
    block b = block_make(bytes, k->packed_depthwise_s8 ? 16 : 1);
    memset(b.data, 0xa5, bytes);
    if (k->packed_depthwise_s8)
        k->pack_depthwise_s8(b.data, d);
    else
        memcpy(b.data, d->weights, plain);
    return b;
}

static bool try_s8(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const shape s = pick_shape(trial);
    const size_t out_bytes = (s.pixels - 1) * s.out_step + s.c;
    const int8_t *taps[TAPS];
    static inputs in;
    block w = block_make((size_t)s.taps * s.c, 1), bias = block_make(s.c * 4, 4), bound = block_make(s.c * 8, 8);
    inputs_s8(&in, taps, &s);
    fill_weights(w.data, (size_t)s.taps * s.c);
    bias_and_bound(bias.data, bound.data, taps, w.data, &s);
    const requant_data q = requant_make(bound.data, s.c);
    const ek_depthwise_s8 d = {
        w.data,
        { bias.data, q.multiplier.data, q.shift.data, q.zero_point, q.qmin, q.qmax },
        s.taps,
        s.c,
    };
    output want = output_make(out_bytes, 1), got = output_make(out_bytes, 1);
    const ek_kernels *tables[2] = { ref, opt };
    for (int i = 0; i < 2; i++) {
        block used = weights_s8(tables[i], &d);
        ek_depthwise_s8 run = d;
        run.weights = used.data;
        int8_t *const out = (int8_t *)(i ? got.data : want.data);
        tables[i]->depthwise_s8(out, s.out_step, taps, s.in_step, s.pixels, &run);
        block_free(used);
    }
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same) report("depthwise_s8", opt, trial, &s, where);

    output_free(want), output_free(got);
    inputs_free(&in);
    block_free(w), block_free(bias), block_free(bound);
    requant_free(q);
    return same;
}

static bool packed_sizes_fit(const ek_kernels *opt)
{
    for (uint32_t c = 1; c < 200; c++) {
        const size_t size = opt->packed_depthwise_s8(9, c);
        if (size % 16 || opt->packed_depthwise_s8(1 + c % 71, c) % 16) {
            printf("%s: a packed size is not a multiple of 16\n", opt->name);
            return false;
        }
        if (opt->packed_depthwise_s8(9, c + 1) < size) {
            printf("%s: %" PRIu32 " channels are packed into more than one more\n", opt->name, c);
            return false;
        }
    }
    return true;
}

bool check_depthwise_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->depthwise_s8 == ref->depthwise_s8) return true;
    if (opt->packed_depthwise_s8 && !packed_sizes_fit(opt)) return false;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_s8(ref, opt, t)) return false;
    return true;
}

static bool close_pixels(const output *want, const output *got, const float **taps, const ek_depthwise_f32 *d,
                         const shape *s, ptrdiff_t *where)
{
    const float *x = (const float *)want->data, *y = (const float *)got->data;
    for (uint32_t p = 0; p < s->pixels; p++)
        for (uint32_t j = 0; j < s->c; j++) {
            double sum = d->bias ? fabs(d->bias[j]) : 0;
            for (uint32_t t = 0; t < s->taps; t++)
                sum += fabs((double)d->weights[t * s->c + j] * taps[t][p * s->in_step + j]);
            *where = (ptrdiff_t)(p * s->out_step + j);
            if (!(fabs((double)x[*where] - y[*where]) <= 1e-5 * sum)) return false;
            memcpy(got->data + *where * 4, want->data + *where * 4, 4);
        }
    return output_equal(want, got, where);
}

static bool try_f32(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const shape s = pick_shape(trial);
    const size_t out_bytes = ((s.pixels - 1) * s.out_step + s.c) * 4;
    const float *taps[TAPS];
    static inputs in;
    block w = block_make((size_t)s.taps * s.c * 4, 4), bias = block_make(s.c * 4, 4);
    inputs_f32(&in, taps, &s);
    fill_f32(w.data, (size_t)s.taps * s.c);
    fill_f32(bias.data, s.c);
    const bool clamped = rnd() & 1;
    const ek_depthwise_f32 d = {
        w.data, rnd() % 4 ? bias.data : NULL, clamped ? -0.3f : -INFINITY, clamped ? 0.5f : INFINITY, s.taps, s.c,
    };
    output want = output_make(out_bytes, 4), got = output_make(out_bytes, 4);
    ref->depthwise_f32((float *)want.data, s.out_step, taps, s.in_step, s.pixels, &d);
    opt->depthwise_f32((float *)got.data, s.out_step, taps, s.in_step, s.pixels, &d);
    ptrdiff_t where;
    const bool same = close_pixels(&want, &got, taps, &d, &s, &where);
    if (!same) report("depthwise_f32", opt, trial, &s, where);

    output_free(want), output_free(got);
    inputs_free(&in);
    block_free(w), block_free(bias);
    return same;
}

bool check_depthwise_f32(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->depthwise_f32 == ref->depthwise_f32) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_f32(ref, opt, t)) return false;
    return true;
}

typedef struct bench_state {
    const ek_kernels *kernels;
    ek_depthwise_s8 s8;
    ek_depthwise_f32 f32;
    const int8_t *const *taps;
    const float *const *taps_f32;
    void *out;
    size_t in_step, pixels;
} bench_state;

static void run_s8(void *context)
{
    const bench_state *b = context;
    b->kernels->depthwise_s8(b->out, b->s8.c, b->taps, b->in_step, b->pixels, &b->s8);
}

static void run_f32(void *context)
{
    const bench_state *b = context;
    b->kernels->depthwise_f32(b->out, b->f32.c, b->taps_f32, b->in_step, b->pixels, &b->f32);
}

static void bench_shape(const ek_kernels *ref, const ek_kernels *opt, uint32_t pixels, uint32_t c, uint32_t stride)
{
    enum { TAPS_3X3 = 9 };
    const size_t width = (size_t)pixels * stride + 2;
    block in = block_make(3 * width * c * 4, 16), out = block_make((size_t)pixels * c * 4, 16);
    block w = block_make((size_t)TAPS_3X3 * c * 4, 16), bias = block_make(c * 4, 4), bound = block_make(c * 8, 8);
    memset(bias.data, 0, c * 4);
    for (uint32_t j = 0; j < c; j++) ((int64_t *)bound.data)[j] = (1 << 30) - 1;
    const requant_data q = requant_make(bound.data, c);
    const ek_requant requant = { bias.data, q.multiplier.data, q.shift.data, q.zero_point, q.qmin, q.qmax };
    const int8_t *taps[TAPS_3X3];
    const float *taps_f32[TAPS_3X3];
    for (size_t t = 0; t < TAPS_3X3; t++) {
        const size_t at = (t / 3 * width + t % 3) * c;
        taps[t] = (const int8_t *)in.data + at;
        taps_f32[t] = (const float *)in.data + at;
    }
    const ek_kernels *tables[2] = { ref, opt };
    double s8[2], f32[2];
    for (int i = 0; i < 2; i++) {
        bench_state b = { tables[i],
                          { w.data, requant, TAPS_3X3, c },
                          { w.data, NULL, -INFINITY, INFINITY, TAPS_3X3, c },
                          taps,
                          taps_f32,
                          out.data,
                          (size_t)stride * c,
                          pixels };
        fill_s8(in.data, 3 * width * c);
        fill_weights(w.data, (size_t)TAPS_3X3 * c);
        block used = weights_s8(tables[i], &b.s8);
        b.s8.weights = used.data;
        s8[i] = seconds_per_call(run_s8, &b);
        block_free(used);
        fill_f32(in.data, 3 * width * c);
        fill_f32(w.data, (size_t)TAPS_3X3 * c);
        f32[i] = seconds_per_call(run_f32, &b);
    }
    char text[48];
    snprintf(text, sizeof text, "%" PRIu32 "x%" PRIu32 " 3x3 /%" PRIu32, pixels, c, stride);
    const double macs = (double)pixels * c * TAPS_3X3;
    bench_line("depthwise_s8", text, opt->name, macs, s8[0], s8[1], "GMAC/s");
    bench_line("depthwise_f32", text, opt->name, macs, f32[0], f32[1], "GMAC/s");
    block_free(in), block_free(out), block_free(w), block_free(bias), block_free(bound);
    requant_free(q);
}

void bench_depthwise(const ek_kernels *ref, const ek_kernels *opt)
{
    static const uint32_t shapes[][3] = {
        { 46, 8, 1 }, { 24, 16, 2 }, { 22, 32, 1 }, { 12, 32, 2 },  { 3, 64, 1 },   { 10, 64, 1 },
        { 1, 64, 1 }, { 4, 128, 1 }, { 1, 256, 1 }, { 112, 32, 1 }, { 26, 144, 1 }, { 5, 960, 1 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bench_shape(ref, opt, shapes[i][0], shapes[i][1], shapes[i][2]);
}
