/* gemm_s8 on vrmpy: unsigned bytes of a vector times signed bytes of a scalar register. Weights go
 * in as w + 128, activations as they are; 128 times a row's sum comes off its accumulators.
 *
 * Packed: panels, from the first whole line on.
 */
#include <string.h>

#include "gemm_panels.h"
#include "kernels.h"
#include "requant.h"

enum { BLOCK = 8, MOST = BLOCK * EK_WORDS }; /* panels and channels of which `columns` has the requantization */

size_t ek_hvx_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return EK_LINE - EK_ALIGN + panels(n) * panel_bytes(k);
}

void ek_hvx_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    (void)bias;
    memset(packed, 0, ek_hvx_packed_gemm_s8(n, k));
    pack_panels((char *)(uintptr_t)ek_first_line(packed), panel_bytes(k), weights, n, k);
}

typedef struct columns {
    const char *panel;
    size_t panel_bytes, k;
    uint32_t copies, n;
    ek_output128 output;
    ek_channels32 channels[BLOCK];
} columns;

typedef struct rows {
    ek_source from;
    int8_t *out;
    size_t out_step, count;
    ek_rows *gathered;
    const ek_slots *slots; /* NULL: they lie too far apart */
} rows;

enum { SLOT_WORDS = EK_SLOT / 8 };
static const layout SINGLE = { 1, 1, 1 }, SLOTS = { SLOT_WORDS, 1, EK_SLOT / 4 };

static void load_channels(columns *w, const ek_requant *q, uint32_t first, uint32_t n)
{
    for (uint32_t p = 0; p * EK_WORDS < n; p++, first += EK_WORDS) {
        const uint32_t count = n - p * EK_WORDS < EK_WORDS ? n - p * EK_WORDS : EK_WORDS;
        const HVX_Vector shift = ek_load_some(q->shift + first, count);
        const HVX_Vector words = Q6_V_lo_W(Q6_Ww_vunpack_Vh(Q6_V_lo_W(Q6_Wh_vunpack_Vb(shift))));
        w->channels[p] = ek_channels_from(repeat(ek_load_some(q->bias + first, 4 * count), w->copies, count),
                                          repeat(ek_load_some(q->multiplier + first, 4 * count), w->copies, count),
                                          repeat(words, w->copies, count));
    }
}

/* The sums of R rows and C panels; rows of more than EK_CHUNK columns are gathered piece by piece. */
EK_INLINE void sums(HVX_Vector acc[8][4], const columns *w, const rows *x, int row, const layout at, uint32_t p,
                    const int R, const int C)
{
    const char *const panel = w->panel + p * w->panel_bytes;
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) acc[r][c] = w->channels[p + (uint32_t)c].bias;
    if (w->k <= EK_CHUNK) {
        multiply(acc, x->gathered, row, at, panel, w->panel_bytes, w->k, R, C);
        return;
    }
    for (size_t first = 0; first < w->k; first += EK_CHUNK) {
        const size_t k = w->k - first < EK_CHUNK ? w->k - first : EK_CHUNK;
        if (at.next == 1)
            ek_hvx_gather_row(x->gathered, &x->from, first, k);
        else
            ek_hvx_gather_rows(x->gathered, &x->from, x->count, first, k);
        multiply(acc, x->gathered, row, at, panel + first * (EK_LINE / 4), w->panel_bytes, k, R, C);
    }
}

/* A line is groups of `stride` bytes, in each of which `copies` rows of n outputs follow one another. */
EK_INLINE void emit(int8_t *out, size_t out_step, HVX_Vector line, size_t stride, size_t copies, size_t n,
                    size_t rows_here)
{
    const size_t group = copies * n, groups = copies == 4 ? 2 : EK_LINE / stride; /* of eight rows */
    if (out_step == n) {
        HVX_Vector all = line;
        for (size_t i = 1; i < groups && group < stride; i++) {
            line = Q6_V_vror_VR(line, (int32_t)stride);
            all = Q6_V_vmux_QVV(Q6_Q_vsetq_R((int32_t)(i * group)), all,
                                Q6_V_vlalign_VVR(line, line, (int32_t)(i * group)));
        }
        ek_store_some(out, all, rows_here * n);
        return;
    }
    for (size_t r = 0; r < rows_here; r++, out += out_step) {
        ek_store_some(out, line, n);
        line = Q6_V_vror_VR(line, (int32_t)((r + 1) % copies ? n : stride - group + n));
    }
}

/* Four rows, 128 channels. */
static void wide(const columns *w, const rows *x, int row, uint32_t p, size_t n)
{
    HVX_Vector acc[8][4];
    const ek_channels32 *c = w->channels + p;
    sums(acc, w, x, row, INTERLEAVED, p, 4, 4);
    const size_t count = at_most(x->count - (size_t)row, 4);
    int8_t *out = x->out + (size_t)row * x->out_step + p * EK_WORDS;
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++, out += x->out_step) {
        const HVX_Vector line = ek_narrow128(ek_scale32(acc[r][0], c), ek_scale32(acc[r][1], c + 1),
                                             ek_scale32(acc[r][2], c + 2), ek_scale32(acc[r][3], c + 3), &w->output);
        if ((size_t)r < count && n >= EK_LINE)
            ek_store(out, line);
        else if ((size_t)r < count)
            ek_store_some(out, line, n);
    }
}

/* Eight rows, 64 channels. */
static void half(const columns *w, const rows *x, uint32_t p, size_t n)
{
    HVX_Vector acc[8][4];
    const ek_channels32 *c = w->channels + p;
    sums(acc, w, x, 0, INTERLEAVED, p, 8, 2);
    int8_t *out = x->out + p * EK_WORDS;
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2, out += 2 * x->out_step) {
        const HVX_Vector line =
            ek_narrow128(ek_scale32(acc[r][0], c), ek_scale32(acc[r][1], c + 1), ek_scale32(acc[r + 1][0], c),
                         ek_scale32(acc[r + 1][1], c + 1), &w->output);
        if ((size_t)r < x->count) emit(out, x->out_step, line, 64, 1, n, at_most(x->count - (size_t)r, 2));
    }
}

/* Merges the lanes of rows where a panel holds the channels several times; returns how many vectors
 * are left. */
EK_INLINE int merge(HVX_Vector v[8], const columns *w, const uint32_t copies)
{
    const int32_t bytes = (int32_t)w->n * 4;
    if (copies == 1) return 8;
    const HVX_VectorPred one = Q6_Q_vsetq_R(bytes), two = Q6_Q_vsetq2_R(2 * bytes);
    if (copies == 2) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) v[i] = Q6_V_vmux_QVV(one, v[2 * i], v[2 * i + 1]);
        return 4;
    }
    const HVX_VectorPred three = Q6_Q_vsetq_R(3 * bytes);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        v[i] = Q6_V_vmux_QVV(two, Q6_V_vmux_QVV(one, v[4 * i], v[4 * i + 1]),
                             Q6_V_vmux_QVV(three, v[4 * i + 2], v[4 * i + 3]));
    return 2;
}

/* Eight rows, one panel of up to 32 channels. */
EK_INLINE void narrow(const columns *w, const rows *x, uint32_t p, size_t n, const layout at, const uint32_t copies)
{
    HVX_Vector acc[8][4], v[8];
    const ek_channels32 *c = w->channels + p;
    sums(acc, w, x, 0, at, p, 8, 1);
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++) v[r] = acc[r][0];
    const int vectors = merge(v, w, copies);
    int8_t *out = x->out + p * EK_WORDS;
    const HVX_Vector v0 = ek_scale32(v[0], c), v1 = ek_scale32(v[1], c);
    const HVX_Vector first = copies == 4 ? ek_narrow128(v0, v1, v0, v1, &w->output)
                                         : ek_narrow128(v0, v1, ek_scale32(v[2], c), ek_scale32(v[3], c), &w->output);
    emit(out, x->out_step, first, EK_WORDS, copies, n, at_most(x->count, 4 * copies));
    if (vectors <= 4 || x->count <= 4) return;
    const HVX_Vector second =
        ek_narrow128(ek_scale32(v[4], c), ek_scale32(v[5], c), ek_scale32(v[6], c), ek_scale32(v[7], c), &w->output);
    emit(out + 4 * x->out_step, x->out_step, second, EK_WORDS, 1, n, x->count - 4);
}

static void run_rows(const columns *w, const rows *x, size_t n)
{
    uint32_t p = 0;
    if (x->slots) {
        ek_hvx_gather_slots(x->gathered, x->slots, &x->from, x->count);
        if (w->copies == 4)
            narrow(w, x, 0, n, SLOTS, 4);
        else
            for (; n; n -= at_most(n, EK_WORDS), p++) narrow(w, x, p, at_most(n, EK_WORDS), SLOTS, w->copies);
        return;
    }
    if (w->k <= EK_CHUNK) ek_hvx_gather_rows(x->gathered, &x->from, x->count, 0, w->k);
    for (; n > 64 + EK_WORDS; n -= at_most(n, EK_LINE), p += 4) {
        wide(w, x, 0, p, n);
        if (x->count > 4) wide(w, x, 4, p, n);
    }
    if (n > EK_WORDS) {
        half(w, x, p, at_most(n, 64));
        n -= at_most(n, 64);
        p += 2;
    }
    if (n) narrow(w, x, p, n, INTERLEAVED, w->copies);
}

/* One row and C panels; the bytes of those that are missing are anything. */
EK_INLINE void single(const columns *w, const rows *x, uint32_t p, size_t n, const int C)
{
    HVX_Vector acc[8][4], v[4];
    sums(acc, w, x, 0, SINGLE, p, 1, C);
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) v[c] = c < C ? ek_scale32(acc[0][c], w->channels + p + c) : Q6_V_vzero();
    ek_store_some(x->out + p * EK_WORDS, ek_narrow128(v[0], v[1], v[2], v[3], &w->output), n);
}

static void run_row(const columns *w, const rows *x, size_t n)
{
    if (w->k <= EK_CHUNK) ek_hvx_gather_row(x->gathered, &x->from, 0, w->k);
    uint32_t p = 0;
    for (; n > 3 * EK_WORDS; n -= at_most(n, EK_LINE), p += 4) single(w, x, p, at_most(n, EK_LINE), 4);
    for (; n; n -= at_most(n, EK_WORDS), p++) single(w, x, p, at_most(n, EK_WORDS), 1);
}

void ek_hvx_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t count, const ek_gemm_s8 *g)
{
    ek_rows gathered;
    columns w = { .panel = ek_first_line(g->weights),
                  .panel_bytes = panel_bytes(g->k),
                  .k = g->k,
                  .copies = copies_of(g->n),
                  .n = g->n,
                  .output = ek_output_from(g->requant.zero_point, g->requant.qmin, g->requant.qmax) };
    const ek_source from = { a, a_step, g->part ? g->part : g->k, g->part_step };
    ek_slots slots;
    const bool in_slots = count > 3 && ek_slots_serve(&from, g->k);
    if (in_slots) ek_hvx_plan_slots(&slots, &from, g->k);

    for (uint32_t first = 0; first < g->n; first += MOST, w.panel += BLOCK * w.panel_bytes) {
        const uint32_t n = g->n - first < MOST ? g->n - first : MOST;
        rows x = { from, out + first, out_step, 0, &gathered, in_slots ? &slots : NULL };
        load_channels(&w, &g->requant, first, n);
        for (size_t left = count; left; left -= x.count, x.from.a += x.count * a_step, x.out += x.count * out_step) {
            x.count = left > 3 ? at_most(left, EK_ROWS) : 1;
            if (x.count > 1)
                run_rows(&w, &x, n);
            else
                run_row(&w, &x, n);
        }
    }
}
