/* gemm_s16 on the products of gemm_s8: an int16 is 256 times its upper byte plus its lower one, and a row of them is
 * two rows of bytes. The lower bytes go in less 128, which comes back as 128 times the sum of a channel's weights.
 *
 * Packed: from the first whole line on, of each panel what its sums of upper bytes start from, the same of lower
 * bytes, and its weights.
 */
#include <string.h>

#include "gemm_panels.h"
#include "kernels.h"
#include "requant16.h"

enum { BLOCK = 4, MOST = BLOCK * EK_WORDS }; /* panels and channels of which `columns` has the ratios */
enum { STARTS = 2 * EK_LINE };

static size_t panel_step(uint32_t k)
{
    return STARTS + panel_bytes(k);
}

size_t ek_hvx_packed_gemm_s16(uint32_t n, uint32_t k)
{
    return EK_LINE - EK_ALIGN + panels(n) * panel_step(k);
}

static void pack_start(char *starts, size_t lane, int64_t start)
{
    const int32_t low = (int8_t)(start & 255), high = (int32_t)((start - low) / 256);
    memcpy(starts + lane * sizeof high, &high, sizeof high);
    memcpy(starts + EK_LINE + lane * sizeof low, &low, sizeof low);
}

void ek_hvx_pack_gemm_s16(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    const size_t lanes = (size_t)copies_of(n) * n;
    char *const first = (char *)(uintptr_t)ek_first_line(packed);
    memset(packed, 0, ek_hvx_packed_gemm_s16(n, k));
    pack_panels(first + STARTS, panel_step(k), weights, n, k);
    for (size_t lane = 0; lane < lanes; lane++) {
        int64_t sum = 0;
        for (size_t i = 0; i < k; i++) sum += weights[lane % n * k + i];
        pack_start(first + lane / EK_WORDS * panel_step(k), lane % EK_WORDS, bias[lane % n] + 128 * sum);
    }
}

typedef struct columns {
    const char *panel;
    size_t step, k;
    uint32_t copies, n;
    ek_limits64 limits;
    ek_ratios32 ratios[BLOCK];
} columns;

typedef struct rows {
    const int16_t *a;
    int16_t *out;
    size_t a_step, out_step, count; /* count: 1 to 4 */
    ek_rows *gathered;
} rows;

static void load_ratios(columns *w, const ek_requant16 *q, uint32_t first, uint32_t n)
{
    const HVX_Vector harmless = Q6_V_vsplat_R(EK_LEAST_SHIFT);
    for (uint32_t p = 0; p * EK_WORDS < n; p++, first += EK_WORDS) {
        const uint32_t count = (uint32_t)at_most(n - p * EK_WORDS, EK_WORDS);
        const HVX_Vector bytes = ek_load_some(q->shift + first, count);
        const HVX_Vector words = Q6_V_lo_W(Q6_Wuw_vunpack_Vuh(Q6_V_lo_W(Q6_Wuh_vunpack_Vub(bytes))));
        const HVX_Vector shift = Q6_V_vmux_QVV(Q6_Q_vsetq2_R((int32_t)count * 4), words, harmless);
        w->ratios[p] = ek_ratios_from(repeat(ek_load_some(q->multiplier + first, 4 * count), w->copies, count),
                                      repeat(shift, w->copies, count));
    }
}

/* The sums of R rows and C panels, rows of bytes two by two; rows of more than EK_CHUNK columns are gathered piece
 * by piece. */
EK_INLINE void sums(HVX_Vector acc[8][4], const columns *w, const rows *x, uint32_t p, const int R, const int C)
{
    const char *const panel = w->panel + p * w->step;
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            acc[2 * r][c] = ek_line(panel + (size_t)c * w->step);
            acc[2 * r + 1][c] = ek_line(panel + (size_t)c * w->step + EK_LINE);
        }
    if (w->k <= EK_CHUNK) {
        multiply(acc, x->gathered, 0, INTERLEAVED, panel + STARTS, w->step, w->k, 2 * R, C);
        return;
    }
    for (size_t first = 0; first < w->k; first += EK_CHUNK) {
        const size_t k = at_most(w->k - first, EK_CHUNK);
        ek_hvx_gather_rows16(x->gathered, x->a + first, x->a_step, x->count, k);
        multiply(acc, x->gathered, 0, INTERLEAVED, panel + STARTS + first * (EK_LINE / 4), w->step, k, 2 * R, C);
    }
}

EK_INLINE ek_sums32 sum_of(HVX_Vector acc[8][4], int r, int c)
{
    return (ek_sums32){ acc[2 * r][c], acc[2 * r + 1][c] };
}

static void store(int16_t *out, HVX_Vector line, size_t n)
{
    if (n >= EK_LINE / 2)
        ek_store(out, line);
    else
        ek_store_some(out, line, 2 * n);
}

/* Four rows, 64 channels. */
static void wide(const columns *w, const rows *x, uint32_t p, size_t n)
{
    HVX_Vector acc[8][4];
    const ek_ratios32 *r = w->ratios + p;
    sums(acc, w, x, p, 4, 2);
    int16_t *out = x->out + p * EK_WORDS;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, out += x->out_step) {
        if ((size_t)i >= x->count) return;
        store(out, ek_clamp64(ek_scale16(sum_of(acc, i, 0), r), ek_scale16(sum_of(acc, i, 1), r + 1), &w->limits), n);
    }
}

EK_INLINE ek_sums32 merge_two(HVX_VectorPred first, ek_sums32 a, ek_sums32 b)
{
    return (ek_sums32){ Q6_V_vmux_QVV(first, a.high, b.high), Q6_V_vmux_QVV(first, a.low, b.low) };
}

/* A line is two groups of `copies` rows of n outputs, each group in half of it. */
EK_INLINE void emit(int16_t *out, size_t out_step, HVX_Vector line, size_t copies, size_t n, size_t count)
{
    for (size_t left = count, now; left; left -= now, out += now * out_step) {
        HVX_Vector group = line;
        now = at_most(left, copies);
        if (out_step == n)
            ek_store_some(out, group, 2 * now * n);
        else
            for (size_t r = 0; r < now; r++, group = Q6_V_vror_VR(group, (int32_t)(2 * n)))
                ek_store_some(out + r * out_step, group, 2 * n);
        line = Q6_V_vror_VR(line, EK_LINE / 2);
    }
}

/* Four rows, one panel of up to 32 channels. Where it holds them several times, lanes of rows are merged. */
static void narrow(const columns *w, const rows *x, uint32_t p, size_t n)
{
    HVX_Vector acc[8][4];
    const ek_ratios32 *r = w->ratios + p;
    const int32_t bytes = (int32_t)w->n * 4;
    int16_t *out = x->out + p * EK_WORDS;
    sums(acc, w, x, p, 4, 1);
    ek_sums32 s[4] = { sum_of(acc, 0, 0), sum_of(acc, 1, 0), sum_of(acc, 2, 0), sum_of(acc, 3, 0) };
    if (w->copies > 1) {
        const HVX_VectorPred one = Q6_Q_vsetq_R(bytes), three = Q6_Q_vsetq2_R(3 * bytes);
        s[0] = merge_two(one, s[0], s[1]);
        s[1] = merge_two(w->copies == 4 ? three : one, s[2], s[3]);
    }
    if (w->copies == 4) {
        const HVX_Vector all = ek_scale16(merge_two(Q6_Q_vsetq_R(2 * bytes), s[0], s[1]), r);
        emit(out, x->out_step, ek_clamp64(all, all, &w->limits), 4, n, x->count);
        return;
    }
    const HVX_Vector line = ek_clamp64(ek_scale16(s[0], r), ek_scale16(s[1], r), &w->limits);
    emit(out, x->out_step, line, w->copies, n, at_most(x->count, 2 * w->copies));
    if (w->copies == 2 || x->count <= 2) return;
    emit(out + 2 * x->out_step, x->out_step, ek_clamp64(ek_scale16(s[2], r), ek_scale16(s[3], r), &w->limits), 1, n,
         x->count - 2);
}

/* One row, C panels. */
EK_INLINE void single(const columns *w, const rows *x, uint32_t p, size_t n, const int C)
{
    HVX_Vector acc[8][4], v[4];
    int16_t *const out = x->out + p * EK_WORDS;
    sums(acc, w, x, p, 1, C);
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) v[c] = c < C ? ek_scale16(sum_of(acc, 0, c), w->ratios + p + c) : Q6_V_vzero();
    store(out, ek_clamp64(v[0], v[1], &w->limits), n);
    if (C > 2) store(out + EK_LINE / 2, ek_clamp64(v[2], v[3], &w->limits), n - EK_LINE / 2);
}

static void run_rows(const columns *w, const rows *x, size_t n)
{
    uint32_t p = 0;
    if (w->k <= EK_CHUNK) ek_hvx_gather_rows16(x->gathered, x->a, x->a_step, x->count, w->k);
    if (x->count == 1) {
        for (; n > 3 * EK_WORDS; n -= at_most(n, MOST), p += 4) single(w, x, p, n, 4);
        for (; n; n -= at_most(n, EK_WORDS), p++) single(w, x, p, at_most(n, EK_WORDS), 1);
        return;
    }
    for (; n > EK_WORDS; n -= at_most(n, 2 * EK_WORDS), p += 2) wide(w, x, p, at_most(n, 2 * EK_WORDS));
    if (n) narrow(w, x, p, n);
}

void ek_hvx_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t count, const ek_gemm_s16 *g)
{
    ek_rows gathered;
    columns w = { .panel = ek_first_line(g->weights),
                  .step = panel_step(g->k),
                  .k = g->k,
                  .copies = copies_of(g->n),
                  .n = g->n,
                  .limits = ek_limits_from(g->requant.qmin, g->requant.qmax) };
    for (uint32_t first = 0; first < g->n; first += MOST, w.panel += BLOCK * w.step) {
        const uint32_t n = (uint32_t)at_most(g->n - first, MOST);
        rows x = { a, out + first, a_step, out_step, 0, &gathered };
        load_ratios(&w, &g->requant, first, n);
        for (size_t left = count; left; left -= x.count, x.a += x.count * a_step, x.out += x.count * out_step) {
            x.count = at_most(left, 4);
            run_rows(&w, &x, n);
        }
    }
}
