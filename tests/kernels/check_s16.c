/* gemm_s16, row_w4_s16, mat_mul_s16 and depthwise_s16: every size and tail, sums beyond 32 bits, every shift. */
#include <string.h>

#include "check_s16.h"

enum { TAPS = 280 };

typedef struct table {
    block bias, multiplier, shift;
    ek_requant16 requant;
} table;

/* For n channels whose sums are up to `reach`. */
static table table_make(uint32_t n, int64_t reach)
{
    table t = { block_make(n * 4, 4), block_make(n * 4, 4), block_make(n, 1), { 0 } };
    int32_t *bias = t.bias.data, *m = t.multiplier.data;
    uint8_t *shift = t.shift.data;
    int32_t fitting = 7; /* results around the range of int16 */
    while (fitting < 62 && reach >> (fitting - 7) > 0) fitting++;
    const uint32_t kind = rnd() % 4;
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t pick = rnd() % 8;
        bias[j] = pick == 0 ? INT32_MIN : pick == 1 ? INT32_MAX : rnd_between(-100000, 100000);
        m[j] = pick == 2 ? 1 << 22 : pick == 3 ? (1 << 23) - 1 : rnd_between(1 << 22, (1 << 23) - 1);
        const int32_t near = fitting + rnd_between(-4, 3);
        shift[j] = (uint8_t)(kind == 0   ? rnd_between(1, 62)
                             : kind == 1 ? (rnd() & 1 ? 1 : 62)
                                         : (near < 1    ? 1
                                            : near > 62 ? 62
                                                        : near));
    }
    const int32_t a = rnd_between(-32768, 32767), b = rnd_between(-32768, 32767);
    const bool whole = rnd() & 1;
    t.requant = (ek_requant16){ bias, m, shift, whole ? -32767 : a < b ? a : b, whole ? 32767 : a < b ? b : a };
    return t;
}

static void table_free(table t)
{
    block_free(t.bias), block_free(t.multiplier), block_free(t.shift);
}

static bool packs_in_16s(ek_packed_fn *packed, const char *slot, const ek_kernels *opt)
{
    for (uint32_t n = 1; packed && n < 70; n++) {
        if (packed(n, 71 - n) % 16 == 0) continue;
        printf("%s of %s: a packed size is not a multiple of 16\n", slot, opt->name);
        return false;
    }
    return true;
}

/* What the table wants as weights: those of the file, or a packed copy. */
static block gemm_weights(const ek_kernels *k, const ek_gemm_s16 *g)
{
    const size_t plain = (size_t)g->n * g->k, bytes = k->packed_gemm_s16 ? k->packed_gemm_s16(g->n, g->k) : plain;
    block b = block_make(bytes, k->packed_gemm_s16 ? 16 : 1);
    memset(b.data, 0xa5, bytes);
    if (k->packed_gemm_s16)
        k->pack_gemm_s16(b.data, g->weights, g->requant.bias, g->n, g->k);
    else
        memcpy(b.data, g->weights, plain);
    return b;
}

static bool try_gemm(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    uint32_t rows = 1 + rnd() % 20, n = 1 + rnd() % 72, k = 1 + rnd() % 80;
    switch (trial % 4) {
    case 0: rows = 1 + trial / 4 % 30; break;
    case 1: n = 1 + trial / 4 % 140; break;
    case 2: k = 1 + trial / 4 % 140; break;
    default:
        if (trial % 16 == 3) k = 250 + rnd() % 1400;
    }
    const size_t a_step = k + (rnd() & 1 ? 0 : rnd() % 9), out_step = n + (rnd() & 1 ? 0 : rnd() % 9);
    const size_t out_bytes = ((rows - 1) * out_step + n) * 2;
    block a = inputs((rows - 1) * a_step + k), w = block_make((size_t)n * k, 1);
    fill_weights(w.data, (size_t)n * k);
    const table t = table_make(n, (int64_t)k << 22);
    output outs[2] = { output_make(out_bytes, 2), output_make(out_bytes, 2) };
    const ek_kernels *tables[2] = { ref, opt };
    for (int i = 0; i < 2; i++) {
        ek_gemm_s16 g = { .weights = w.data, .requant = t.requant, .n = n, .k = k };
        block used = gemm_weights(tables[i], &g);
        g.weights = used.data;
        tables[i]->gemm_s16((int16_t *)outs[i].data, out_step, a.data, a_step, rows, &g);
        block_free(used);
    }
    char sizes[80];
    snprintf(sizes, sizeof sizes, "rows %" PRIu32 " n %" PRIu32 " k %" PRIu32, rows, n, k);
    const bool same = !differs(&outs[0], &outs[1], "gemm_s16", opt, trial, sizes);
    output_free(outs[0]), output_free(outs[1]);
    block_free(a), block_free(w), table_free(t);
    return same;
}

bool check_gemm_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->gemm_s16 == ref->gemm_s16) return true;
    if (!packs_in_16s(opt->packed_gemm_s16, "gemm_s16", opt)) return false;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_gemm(ref, opt, t)) return false;
    return true;
}

static bool try_row_w4(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const bool is_long = trial % 16 == 3;
    const uint32_t n = 1 + rnd() % (is_long ? 3 : 40), k = is_long ? 4000 + rnd() % 5000 : 1 + rnd() % 140;
    block a = inputs(k), w = block_make((size_t)n * k, 1);
    const nibbles four = nibbles_make(w.data, n, k);
    const table t = table_make(n, (int64_t)k << 22);
    output outs[2] = { output_make(n * 2, 2), output_make(n * 2, 2) };
    ek_gemm_s16 g = { .weights = w.data, .requant = t.requant, .n = n, .k = k };
    block used = gemm_weights(ref, &g);
    g.weights = used.data;
    ref->gemm_s16((int16_t *)outs[0].data, n, a.data, k, 1, &g);
    opt->row_w4_s16((int16_t *)outs[1].data, a.data, &four.w, &t.requant, n);
    char sizes[80];
    snprintf(sizes, sizeof sizes, "n %" PRIu32 " k %" PRIu32 " group %" PRIu32, n, k, four.w.group);
    const bool same = !differs(&outs[0], &outs[1], "row_w4_s16", opt, trial, sizes);
    output_free(outs[0]), output_free(outs[1]);
    block_free(a), block_free(w), block_free(used), table_free(t);
    block_free(four.rows), block_free(four.multipliers);
    return same;
}

bool check_row_w4_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_row_w4(ref, opt, t)) return false;
    return true;
}

static bool try_mat_mul(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    const uint32_t rows = 1 + rnd() % 9, n = 1 + rnd() % 40;
    const uint32_t k = trial % 8 == 7 ? 511 - rnd() % 20 : 1 + rnd() % 150;
    block a = inputs((size_t)rows * k), b = inputs((size_t)n * k);
    const table t = table_make(1, (int64_t)k << 30);
    const ek_requant16 *r = &t.requant;
    const ek_mat_mul_s16 m = { b.data, *r->multiplier, r->qmin, r->qmax, *r->shift, n, k };
    output want = output_make((size_t)rows * n * 2, 2), got = output_make((size_t)rows * n * 2, 2);
    ref->mat_mul_s16((int16_t *)want.data, a.data, rows, &m);
    opt->mat_mul_s16((int16_t *)got.data, a.data, rows, &m);
    char sizes[80];
    snprintf(sizes, sizeof sizes, "rows %" PRIu32 " n %" PRIu32 " k %" PRIu32, rows, n, k);
    const bool same = !differs(&want, &got, "mat_mul_s16", opt, trial, sizes);
    output_free(want), output_free(got);
    block_free(a), block_free(b), table_free(t);
    return same;
}

bool check_mat_mul_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->mat_mul_s16 == ref->mat_mul_s16) return true;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_mat_mul(ref, opt, t)) return false;
    return true;
}

static block depthwise_weights(const ek_kernels *k, const ek_depthwise_s16 *d)
{
    const size_t plain = (size_t)d->taps * d->c;
    const size_t bytes = k->packed_depthwise_s16 ? k->packed_depthwise_s16(d->taps, d->c) : plain;
    block b = block_make(bytes, k->packed_depthwise_s16 ? 16 : 1);
    memset(b.data, 0xa5, bytes);
    if (k->packed_depthwise_s16)
        k->pack_depthwise_s16(b.data, d);
    else
        memcpy(b.data, d->weights, plain);
    return b;
}

static bool try_depthwise(const ek_kernels *ref, const ek_kernels *opt, uint32_t trial)
{
    uint32_t pixels = 1 + rnd() % 20, c = 1 + rnd() % 72, taps = rnd() & 1 ? 9 : 1 + rnd() % 30;
    switch (trial % 4) {
    case 0: pixels = 1 + trial / 4 % 40; break;
    case 1: c = 1 + trial / 4 % 200; break;
    case 2: taps = 1 + trial / 4 % TAPS; break;
    default:
        if (trial % 8 == 3) c = 1u << (rnd() % 8);
    }
    const size_t in_step = rnd() & 1 ? c : c + rnd() % 9, out_step = rnd() & 1 ? c : c + rnd() % 9;
    const size_t out_bytes = ((pixels - 1) * out_step + c) * 2;
    const int16_t *tap[TAPS];
    static block blocks[TAPS];
    for (uint32_t t = 0; t < taps; t++) { /* now and then one again, as padding is */
        blocks[t] = t && rnd() % 8 == 0 ? (block){ NULL, NULL, 0 } : inputs((pixels - 1) * in_step + c);
        tap[t] = blocks[t].data ? blocks[t].data : tap[rnd() % t];
    }
    block w = block_make((size_t)taps * c, 1);
    fill_weights(w.data, (size_t)taps * c);
    const table t = table_make(c, (int64_t)taps << 22);
    output outs[2] = { output_make(out_bytes, 2), output_make(out_bytes, 2) };
    const ek_kernels *tables[2] = { ref, opt };
    for (int i = 0; i < 2; i++) {
        ek_depthwise_s16 d = { .weights = w.data, .requant = t.requant, .taps = taps, .c = c };
        block used = depthwise_weights(tables[i], &d);
        d.weights = used.data;
        tables[i]->depthwise_s16((int16_t *)outs[i].data, out_step, tap, in_step, pixels, &d);
        block_free(used);
    }
    char sizes[80];
    snprintf(sizes, sizeof sizes, "pixels %" PRIu32 " c %" PRIu32 " taps %" PRIu32, pixels, c, taps);
    const bool same = !differs(&outs[0], &outs[1], "depthwise_s16", opt, trial, sizes);
    for (uint32_t i = 0; i < taps; i++)
        if (blocks[i].data) block_free(blocks[i]);
    output_free(outs[0]), output_free(outs[1]);
    block_free(w), table_free(t);
    return same;
}

bool check_depthwise_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    if (opt->depthwise_s16 == ref->depthwise_s16) return true;
    if (!packs_in_16s(opt->packed_depthwise_s16, "depthwise_s16", opt)) return false;
    for (uint32_t t = 0; t < check_trials; t++)
        if (!try_depthwise(ref, opt, t)) return false;
    return true;
}

typedef struct bench_state {
    const ek_kernels *kernels;
    ek_gemm_s16 gemm;
    ek_mat_mul_s16 mat_mul;
    ek_depthwise_s16 depthwise;
    const int16_t *in, *const *taps;
    int16_t *out;
    size_t rows;
} bench_state;

static void run_gemm(void *context)
{
    const bench_state *b = context;
    b->kernels->gemm_s16(b->out, b->gemm.n, b->in, b->gemm.k, b->rows, &b->gemm);
}

static void run_mat_mul(void *context)
{
    const bench_state *b = context;
    b->kernels->mat_mul_s16(b->out, b->in, b->rows, &b->mat_mul);
}

static void run_depthwise(void *context)
{
    const bench_state *b = context;
    b->kernels->depthwise_s16(b->out, b->depthwise.c, b->taps, b->depthwise.c, b->rows, &b->depthwise);
}

/* Of one slot: rows x n x k, or pixels x channels x taps. */
static void bench_one(const ek_kernels *ref, const ek_kernels *opt, const char *slot, const uint32_t *shape,
                      void (*run)(void *))
{
    const uint32_t rows = shape[0], n = shape[1], k = shape[2];
    const bool is_depthwise = run == run_depthwise;
    const size_t in_count = is_depthwise ? ((size_t)rows + 9) * n * k : (size_t)rows * k;
    block in = inputs(in_count), b = inputs((size_t)n * k), w = block_make((size_t)n * k, 1);
    block out = block_make((size_t)rows * n * 2, 16);
    fill_weights(w.data, (size_t)n * k);
    const table t = table_make(n, (int64_t)k << 22);
    const int16_t *taps[TAPS];
    for (uint32_t i = 0; i < k && i < TAPS; i++) taps[i] = (const int16_t *)in.data + (size_t)i * n;
    const ek_kernels *tables[2] = { ref, opt };
    double took[2];
    for (int i = 0; i < 2; i++) {
        bench_state s = { tables[i],
                          { w.data, t.requant, n, k },
                          { b.data, *t.requant.multiplier, -32767, 32767, *t.requant.shift, n, k },
                          { w.data, t.requant, k, n },
                          in.data,
                          taps,
                          out.data,
                          rows };
        block used = is_depthwise ? depthwise_weights(tables[i], &s.depthwise) : gemm_weights(tables[i], &s.gemm);
        s.gemm.weights = s.depthwise.weights = used.data;
        took[i] = seconds_per_call(run, &s);
        block_free(used);
    }
    char text[48];
    snprintf(text, sizeof text, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, rows, n, k);
    bench_line(slot, text, opt->name, (double)rows * n * k, took[0], took[1], "GMAC/s");
    block_free(in), block_free(b), block_free(w), block_free(out), table_free(t);
}

void bench_s16(const ek_kernels *ref, const ek_kernels *opt)
{
    static const uint32_t products[][3] = { { 48, 64, 576 }, { 125, 64, 64 }, { 576, 16, 8 }, { 1, 128, 640 } };
    static const uint32_t planes[][3] = { { 22, 32, 9 }, { 10, 64, 9 }, { 5, 960, 9 } };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        bench_one(ref, opt, "gemm_s16", products[i], run_gemm);
    bench_one(ref, opt, "mat_mul_s16", (const uint32_t[]){ 64, 64, 64 }, run_mat_mul);
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++)
        bench_one(ref, opt, "depthwise_s16", planes[i], run_depthwise);
}
