/* gemm_s8 and gemm_f32: every n, k and row tail, steps wider than the rows. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef struct shape {
    uint32_t rows, n, k;
    size_t a_step, out_step;
} shape;

/* Trial t sweeps each size in turn through all small values, against random others. */
static shape pick_shape(uint32_t t)
{
    shape s = { 1 + rnd() % 20, 1 + rnd() % 72, 1 + rnd() % 80, 0, 0 };
    switch (t % 4) {
    case 0: s.rows = 1 + t / 4 % 30; break;
    case 1: s.n = 1 + t / 4 % 140; break;
    case 2: s.k = 1 + t / 4 % 140; break;
    default:
        if (t % 64 == 3) s.k = 500 + rnd() % 1100;
        if (t % 32 == 11) s.k = 250 + rnd() % 300; /* groups of 4-bit weights that are long */
    }
    if (t % 8 == 7) s.rows = 1; /* as fully connected layers have */
    s.a_step = rnd() % 8 == 0 ? 1 + rnd() % s.k : s.k + (rnd() & 1 ? 0 : rnd() % 9); /* windows overlap */
    s.out_step = s.n + (rnd() & 1 ? 0 : rnd() % 9);
    return s;
}

static void report(const char *slot, const ek_kernels *opt, uint32_t trial, const shape *s, ptrdiff_t where)
{
    printf("%s of %s differs in trial %" PRIu32 ": rows %" PRIu32 " n %" PRIu32 " k %" PRIu32
           " a_step %lu out_step %lu, at element %ld\n",
           slot, opt->name, trial, s->rows, s->n, s->k, (unsigned long)s->a_step, (unsigned long)s->out_step,
           (long)where);
}

static int32_t dot(const int8_t *a, const int8_t *w, uint32_t k)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < k; i++) sum += a[i] * w[i];
    return sum;
}

static void bias_and_bound(int32_t *bias, int64_t *bound, const int8_t *a, const int8_t *w, const shape *s)
{
    for (uint32_t j = 0; j < s->n; j++) {
        int32_t lo = 0, hi = 0, some = 0;
        for (uint32_t r = 0; r < s->rows; r++) {
            const int32_t d = dot(a + r * s->a_step, w + (size_t)j * s->k, s->k);
            lo = d < lo ? d : lo;
            hi = d > hi ? d : hi;
            if (rnd() % (r + 1) == 0) some = d;
        }
        bias[j] = bias_between(lo, hi, some, 5000, &bound[j]);
    }
}

/* What the table wants as weights: the canonical ones, or a packed copy. */
static block weights_s8(const ek_kernels *k, const int8_t *w, const int32_t *bias, uint32_t n, uint32_t depth)
{
    if (!k->packed_gemm_s8) {
        block b = block_make((size_t)n * depth, 1);
        memcpy(b.data, w, (size_t)n * depth);
        return b;
    }
    const size_t bytes = k->packed_gemm_s8(n, depth);
    block b = block_make(bytes, 16);
    memset(b.data, 0xa5, bytes);
    k->pack_gemm_s8(b.data, w, bias, n, depth);
    return b;
}

static block weights_f32(const ek_kernels *k, const float *w, uint32_t n, uint32_t depth)
{
    const size_t plain = (size_t)n * depth * sizeof(float);
    if (!k->packed_gemm_f32) {
        block b = block_make(plain, sizeof(float));
        memcpy(b.data, w, plain);
        return b;
    }
    const size_t bytes = k->packed_gemm_f32(n, depth);
    block b = block_make(bytes, 16);
    memset(b.data, 0xa5, bytes);
    k->pack_gemm_f32(b.data, w, n, depth);
    return b;
}

nibbles nibbles_make(int8_t *weights, uint32_t n, uint32_t k)
{
    static const uint32_t groups[] = { 0, 0, 4, 16, 32, 64, 48, 80, 96, 256, 264, 272, 320, 512 };
    const uint32_t count = sizeof groups / sizeof *groups, pick = rnd() % (count + 3);
    const uint32_t group = pick < count ? groups[pick] : 1 + rnd() % (pick == count ? 440 : 40);
    const size_t row = (k + 1) / 2, of_row = group ? (k + group - 1) / group : 0;
    nibbles b = { block_make(n * row, 1), block_make(n * of_row, 1), { NULL, NULL, group, k } };
    uint8_t *const rows = b.rows.data, *const multipliers = b.multipliers.data;
    for (size_t i = 0; i < n * of_row; i++) multipliers[i] = (uint8_t)rnd_between(1, 16);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < k; i++) {
            const int32_t nibble = rnd_between(-8, 7), m = group ? multipliers[j * of_row + i / group] : 1;
            uint8_t *const byte = &rows[j * row + i / 2];
            *byte = (uint8_t)(i % 2 ? (*byte & 15) | (nibble & 15) << 4 : (nibble & 15) | (int32_t)(rnd() & 15) << 4);
            weights[j * k + i] = (int8_t)(nibble * m);
        }
    b.w.nibbles = rows;
    b.w.multipliers = multipliers;
    return b;
}

static block unpacked(const ek_kernels *k, const ek_w4 *w, const int32_t *bias, uint32_t n)
{
    block b = block_make(k->packed_gemm_s8(n, w->k), 16);
    memset(b.data, 0xa5, k->packed_gemm_s8(n, w->k));
    k->unpack_gemm_w4(b.data, w, bias, n);
    return b;
}

/* Rows in parts, as of an image's lines: neighbouring rows may overlap. */
typedef struct parts {
    block data;
    uint32_t part;
    size_t a_step, part_step;
} parts;

static parts parts_make(shape *s, uint32_t multiple)
{
    const uint32_t most = multiple == 1 && rnd() & 1 ? 12 : 72; /* short rows have paths of their own */
    const uint32_t part = multiple * (1 + rnd() % (most / multiple)), count = 1 + rnd() % 5;
    parts p = { .part = part, .a_step = 1 + rnd() % (part + 9) };
    p.part_step = rnd() & 1 ? rnd() % 300 : (s->rows - 1) * p.a_step + part;
    s->k = part * count;
    s->a_step = s->k;
    const size_t bytes = (s->rows - 1) * p.a_step + (count - 1) * p.part_step + part;
    p.data = block_make(bytes, 1);
    fill_s8(p.data.data, bytes);
    return p;
}

static void parts_gather(int8_t *a, const parts *p, const shape *s)
{
    const int8_t *from = p->data.data;
    for (uint32_t r = 0; r < s->rows; r++)
        for (uint32_t i = 0; i < s->k; i++)
            a[r * s->k + i] = from[r * p->a_step + i / p->part * p->part_step + i % p->part];
}

/* With weights of 4 bits, of the table's own unpacking, or plain ones. */
static bool try_gemm_s8(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial, bool w4)
{
    shape s = pick_shape(trial);
    parts p = { 0 };
    if (opt->gemm_s8_parts && trial % 5 == 4) p = parts_make(&s, opt->gemm_s8_parts);
    const size_t a_bytes = (s.rows - 1) * s.a_step + s.k, out_bytes = (s.rows - 1) * s.out_step + s.n;
    block a = block_make(a_bytes, 1), w = block_make((size_t)s.n * s.k, 1);
    block bias = block_make(s.n * 4, 4), bound = block_make(s.n * 8, 8);
    if (p.part)
        parts_gather(a.data, &p, &s);
    else
        fill_s8(a.data, a_bytes);
    nibbles four = { 0 };
    if (w4)
        four = nibbles_make(w.data, s.n, s.k);
    else
        fill_weights(w.data, (size_t)s.n * s.k);
    bias_and_bound(bias.data, bound.data, a.data, w.data, &s);
    const requant_data q = requant_make(bound.data, s.n);
    const ek_requant requant = { bias.data, q.multiplier.data, q.shift.data, q.zero_point, q.qmin, q.qmax };
    output want = output_make(out_bytes, 1), got = output_make(out_bytes, 1);

    block rw = weights_s8(ref, w.data, bias.data, s.n, s.k);
    block ow = w4 ? unpacked(opt, &four.w, bias.data, s.n) : weights_s8(opt, w.data, bias.data, s.n, s.k);
    ek_gemm_s8 g = { .weights = rw.data, .requant = requant, .n = s.n, .k = s.k };
    ref->gemm_s8((int8_t *)want.data, s.out_step, a.data, s.a_step, s.rows, &g);
    g.weights = ow.data;
    g.part = p.part;
    g.part_step = p.part_step;
    opt->gemm_s8((int8_t *)got.data, s.out_step, p.part ? p.data.data : a.data, p.part ? p.a_step : s.a_step, s.rows,
                 &g);
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same) report(w4 ? "unpack_gemm_w4" : "gemm_s8", opt, trial, &s, where);

    output_free(want), output_free(got);
    block_free(a), block_free(w), block_free(bias), block_free(bound), block_free(rw), block_free(ow);
    if (p.part) block_free(p.data);
    if (w4) block_free(four.rows), block_free(four.multipliers);
    requant_free(q);
    return same;
}

static bool try_row_w4(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    shape s = pick_shape(trial);
    s.rows = 1;
    block a = block_make(s.k, 1), w = block_make((size_t)s.n * s.k, 1);
    block bias = block_make(s.n * 4, 4), bound = block_make(s.n * 8, 8);
    const nibbles four = nibbles_make(w.data, s.n, s.k);
    fill_s8(a.data, s.k);
    bias_and_bound(bias.data, bound.data, a.data, w.data, &s);
    const requant_data q = requant_make(bound.data, s.n);
    const ek_requant requant = { bias.data, q.multiplier.data, q.shift.data, q.zero_point, q.qmin, q.qmax };
    output want = output_make(s.n, 1), got = output_make(s.n, 1);
    block rw = weights_s8(ref, w.data, bias.data, s.n, s.k);
    const ek_gemm_s8 g = { .weights = rw.data, .requant = requant, .n = s.n, .k = s.k };
    ref->gemm_s8((int8_t *)want.data, s.n, a.data, s.k, 1, &g);
    opt->row_w4((int8_t *)got.data, a.data, &four.w, &requant, s.n);
    ptrdiff_t where;
    const bool same = output_equal(&want, &got, &where);
    if (!same) report("row_w4", opt, trial, &s, where);

    output_free(want), output_free(got);
    block_free(a), block_free(w), block_free(bias), block_free(bound), block_free(rw);
    block_free(four.rows), block_free(four.multipliers);
    requant_free(q);
    return same;
}

bool check_row_w4(const ek_kernels *ref, const ek_kernels *opt)
{
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_row_w4(ref, opt, t)) return false;
    return true;
}

static bool packs_in_16s(size_t bytes, const ek_kernels *opt)
{
    if (bytes % 16 == 0) return true;
    printf("%s: a packed size of %lu is not a multiple of 16\n", opt->name, (unsigned long)bytes);
    return false;
}

bool check_gemm_s8(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->gemm_s8 == ref->gemm_s8) return true;
    for (uint32_t n = 1; opt->packed_gemm_s8 && n < 70; n++)
        if (!packs_in_16s(opt->packed_gemm_s8(n, 71 - n), opt)) return false;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_gemm_s8(ref, opt, t, false)) return false;
    return true;
}

bool check_unpack_gemm_w4(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->unpack_gemm_w4 == ref->unpack_gemm_w4) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_gemm_s8(ref, opt, t, true)) return false;
    return true;
}

/* Within 1e-5 of the sum of the magnitudes of all terms. Past the rows nothing may change. */
static bool close_rows(const output *want, const output *got, const float *a, const float *w, const float *bias,
                       const shape *s, ptrdiff_t *where)
{
    const float *x = (const float *)want->data, *y = (const float *)got->data;
    for (uint32_t r = 0; r < s->rows; r++)
        for (uint32_t j = 0; j < s->n; j++) {
            double sum = bias ? fabs(bias[j]) : 0;
            for (uint32_t i = 0; i < s->k; i++) sum += fabs((double)a[r * s->a_step + i] * w[(size_t)j * s->k + i]);
            *where = (ptrdiff_t)(r * s->out_step + j);
            if (!(fabs((double)x[*where] - y[*where]) <= 1e-5 * sum)) return false;
            memcpy(got->data + *where * 4, want->data + *where * 4, 4);
        }
    return output_equal(want, got, where);
}

static bool try_gemm_f32(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const shape s = pick_shape(trial);
    const size_t a_count = (s.rows - 1) * s.a_step + s.k, out_count = (s.rows - 1) * s.out_step + s.n;
    block a = block_make(a_count * 4, 4), w = block_make((size_t)s.n * s.k * 4, 4), b = block_make(s.n * 4, 4);
    fill_f32(a.data, a_count);
    fill_f32(w.data, (size_t)s.n * s.k);
    fill_f32(b.data, s.n);
    const float *bias = rnd() % 4 ? b.data : NULL;
    const bool clamped = rnd() & 1;
    const float min = clamped && rnd() % 3 ? -0.3f : -INFINITY, max = clamped && rnd() % 3 ? 0.5f : INFINITY;
    output want = output_make(out_count * 4, 4), got = output_make(out_count * 4, 4);

    block rw = weights_f32(ref, w.data, s.n, s.k), ow = weights_f32(opt, w.data, s.n, s.k);
    ref->gemm_f32((float *)want.data, s.out_step, a.data, s.a_step, s.rows,
                  &(ek_gemm_f32){ rw.data, bias, min, max, s.n, s.k });
    opt->gemm_f32((float *)got.data, s.out_step, a.data, s.a_step, s.rows,
                  &(ek_gemm_f32){ ow.data, bias, min, max, s.n, s.k });
    ptrdiff_t where;
    const bool same = close_rows(&want, &got, a.data, w.data, bias, &s, &where);
    if (!same) report("gemm_f32", opt, trial, &s, where);

    output_free(want), output_free(got);
    block_free(a), block_free(w), block_free(b), block_free(rw), block_free(ow);
    return same;
}

bool check_gemm_f32(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->gemm_f32 == ref->gemm_f32) return true;
    for (uint32_t n = 1; opt->packed_gemm_f32 && n < 70; n++)
        if (!packs_in_16s(opt->packed_gemm_f32(n, 71 - n), opt)) return false;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_gemm_f32(ref, opt, t)) return false;
    return true;
}

typedef struct bench_state {
    const ek_kernels *kernels;
    ek_gemm_s8 s8;
    ek_gemm_f32 f32;
    const void *a;
    void *out;
    size_t rows;
} bench_state;

static void run_s8(void *context)
{
    const bench_state *b = context;
    b->kernels->gemm_s8(b->out, b->s8.n, b->a, b->s8.k, b->rows, &b->s8);
}

static void run_f32(void *context)
{
    const bench_state *b = context;
    b->kernels->gemm_f32(b->out, b->f32.n, b->a, b->f32.k, b->rows, &b->f32);
}

static void bench_shape(const ek_kernels *ref, const ek_kernels *opt, uint32_t rows, uint32_t n, uint32_t k)
{
    block a = block_make((size_t)rows * k * 4, 16), out = block_make((size_t)rows * n * 4, 16);
    block w = block_make((size_t)n * k * 4, 16), bias = block_make(n * 4, 4), bound = block_make(n * 8, 8);
    memset(bias.data, 0, n * 4);
    for (uint32_t j = 0; j < n; j++) ((int64_t *)bound.data)[j] = (1 << 30) - 1;
    const requant_data q = requant_make(bound.data, n);
    const ek_requant requant = { bias.data, q.multiplier.data, q.shift.data, q.zero_point, q.qmin, q.qmax };
    const ek_kernels *tables[2] = { ref, opt };
    double s8[2], f32[2];
    for (int i = 0; i < 2; i++) {
        bench_state b = { .kernels = tables[i], .a = a.data, .out = out.data, .rows = rows };
        fill_s8(a.data, (size_t)rows * k);
        fill_weights(w.data, (size_t)n * k);
        block packed = weights_s8(tables[i], w.data, bias.data, n, k);
        b.s8 = (ek_gemm_s8){ .weights = packed.data, .requant = requant, .n = n, .k = k };
        s8[i] = seconds_per_call(run_s8, &b);
        block_free(packed);
        fill_f32(a.data, (size_t)rows * k);
        fill_f32(w.data, (size_t)n * k);
        packed = weights_f32(tables[i], w.data, n, k);
        b.f32 = (ek_gemm_f32){ packed.data, NULL, -INFINITY, INFINITY, n, k };
        f32[i] = seconds_per_call(run_f32, &b);
        block_free(packed);
    }
    char text[48];
    snprintf(text, sizeof text, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, rows, n, k);
    bench_line("gemm_s8", text, opt->name, (double)rows * n * k, s8[0], s8[1], "GMAC/s");
    bench_line("gemm_f32", text, opt->name, (double)rows * n * k, f32[0], f32[1], "GMAC/s");
    block_free(a), block_free(out), block_free(w), block_free(bias), block_free(bound);
    requant_free(q);
}

void bench_gemm(const ek_kernels *ref, const ek_kernels *opt)
{
    static const uint32_t shapes[][3] = {
        { 48, 64, 576 },  { 125, 64, 64 },  { 48, 64, 40 },   { 48, 8, 27 },   { 48, 16, 27 },   { 576, 16, 8 },
        { 48, 16, 144 },  { 144, 64, 64 },  { 36, 128, 128 }, { 9, 256, 256 }, { 3136, 24, 96 }, { 784, 192, 32 },
        { 49, 960, 160 }, { 49, 320, 960 }, { 1, 128, 640 },  { 1, 8, 128 },   { 1, 10, 64 },    { 1, 1000, 1280 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bench_shape(ref, opt, shapes[i][0], shapes[i][1], shapes[i][2]);
}
