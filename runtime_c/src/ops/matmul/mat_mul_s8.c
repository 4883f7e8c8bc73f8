#include "fixed_point.h"
#include "ops/heavy_checks.h"
#include "mat_mul.h"

/* sum((a - az) * (b - bz)) as a gemm over raw a and b:
 *     sum(a * b) - bz * sum(a) + (k * az * bz - az * sum(b))
 * The bracket is a bias per column. The second term is one number per row, which gemm has no place
 * for: each row of a gets `extra` elements, and b constants against them, whose products sum to it. */

#define EK_BIG 127 /* the constant against all extra elements but the last, whose is 1 */

/* No int32 of the sums can overflow: |acc| <= k * 255 * 255 < 2^30. */
static bool k_fits(uint64_t k)
{
    return k * 255 * 255 < UINT64_C(1) << 30;
}

/* Nor where the scaling shifts them to the left. Of a checked k and zero points. */
static bool sum_fits(const ek_fmt_mat_mul *p)
{
    const uint64_t most = (uint64_t)p->k * ek_reach_s8(p->a_zero) * ek_reach_s8(p->b_zero);
    return most << (p->shift > 0 ? p->shift : 0) < UINT64_C(1) << 30;
}

/* |bz * sum(a)| = EK_BIG * quotient + rest; the quotient is spread over int8s. */
static uint32_t extra(const ek_fmt_mat_mul *p)
{
    const int32_t zero = p->b_zero < 0 ? -p->b_zero : p->b_zero;
    if (!zero || !k_fits(p->k) || zero > 128) return 0;
    const uint32_t quotient = p->k * 128 * (uint32_t)zero / EK_BIG + 1;
    return (quotient + EK_BIG - 1) / EK_BIG + 1;
}

static ek_status mat_mul_s8_check(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    const ek_mat_mul m = { p->batch, p->rows, p->k, p->n, p->a_step, p->b_step };
    if (!k_fits(p->k) || !ek_is_ratio(p->multiplier, p->shift) || !ek_is_s8(p->a_zero) || !ek_is_s8(p->b_zero) ||
        !sum_fits(p) || !ek_check_q_range(p->output_zero, p->qmin, p->qmax) ||
        !ek_check_mat_mul(node, &m, EK_DTYPE_INT8))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

/* Scratch, in this order; each part starts at a multiple of 16. */
typedef struct layout {
    uint64_t rows, bias, multiplier, shift, weights, packed, end;
} layout;

static layout plan(const ek_fmt_mat_mul *p, const ek_kernels *kernels)
{
    const uint32_t more = extra(p), k = p->k + more;
    const bool as_is = p->transpose_b && !more;
    layout l = { 0 };
    l.bias = more ? ek_align16(ek_mul64(k, kernels->gemm_s8_rows)) : 0;
    l.multiplier = ek_add64(l.bias, ek_align16((uint64_t)p->n * 4));
    l.shift = ek_add64(l.multiplier, ek_align16((uint64_t)p->n * 4));
    l.weights = ek_add64(l.shift, ek_align16(p->n));
    l.packed = ek_add64(l.weights, as_is ? 0 : ek_align16((uint64_t)p->n * k));
    l.end = ek_add64(l.packed, ek_packed_bytes(kernels->packed_gemm_s8, p->n, k));
    return l;
}

/* Whether to make the product row by row: of so few rows, another order of b would cost more than it saves. */
static bool mat_mul_s8_by_rows(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    return p->rows <= node->kernels->vecmat_s8_rows;
}

static uint64_t mat_mul_s8_scratch(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    return mat_mul_s8_by_rows(node) ? (uint64_t)p->k * sizeof(int16_t) : plan(p, node->kernels).end;
}

/* The rows of b's transpose, each with room for what `extend` adds, and their sums. `turned` NULL: only the sums. */
static void turn_rows(int8_t *turned, size_t row, int32_t *sums, const int8_t *b, const ek_fmt_mat_mul *p)
{
    const size_t k = p->k, n = p->n;
    memset(sums, 0, n * sizeof *sums);
    if (p->transpose_b) {
        for (size_t j = 0; j < n; j++, b += k) {
            for (size_t i = 0; i < k; i++) sums[j] += b[i];
            if (turned) memcpy(turned + j * row, b, k);
        }
        return;
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++, b++) {
            sums[j] += *b;
            turned[j * row + i] = *b;
        }
}

/* b as weights [n][k + extra] and the bias that belongs to it. */
static const int8_t *turn(const ek_fmt_mat_mul *p, const int8_t *b, int8_t *turned, int32_t *bias)
{
    const size_t more = extra(p), k = p->k, n = p->n;
    const bool as_is = p->transpose_b && !more;
    turn_rows(as_is ? NULL : turned, k + more, bias, b, p);
    for (size_t j = 0; j < n; j++) {
        bias[j] = ((int32_t)k * p->b_zero - bias[j]) * p->a_zero;
        if (!more) continue;
        int8_t *const to = turned + j * (k + more) + k;
        memset(to, EK_BIG, more);
        to[more - 1] = 1;
    }
    return as_is ? b : turned;
}

/* A row of a, and the elements that stand for -bz * sum(a). */
static void extend(int8_t *to, const int8_t *a, const ek_fmt_mat_mul *p)
{
    const uint32_t more = extra(p);
    int32_t sum = 0;
    for (uint32_t i = 0; i < p->k; i++) sum += a[i];
    const int32_t term = -p->b_zero * sum, rest = term % EK_BIG;
    int32_t quotient = term / EK_BIG;
    memcpy(to, a, p->k);
    for (uint32_t i = p->k; i < p->k + more - 1; i++) {
        const int32_t part = quotient > EK_BIG ? EK_BIG : quotient < -EK_BIG ? -EK_BIG : quotient;
        to[i] = (int8_t)part;
        quotient -= part;
    }
    to[p->k + more - 1] = (int8_t)rest;
}

static void mat_mul_s8_multiply(const ek_node *node, int8_t *out, const int8_t *a, const ek_gemm_s8 *gemm)
{
    const ek_fmt_mat_mul *p = node->params;
    const ek_kernels *kernels = node->kernels;
    if (gemm->k == p->k) {
        kernels->gemm_s8(out, p->n, a, p->k, p->rows, gemm);
        return;
    }
    int8_t *rows = node->scratch;
    for (size_t done = 0, held; done < p->rows; done += held) {
        held = p->rows - done < kernels->gemm_s8_rows ? p->rows - done : kernels->gemm_s8_rows;
        for (size_t i = 0; i < held; i++) extend(rows + i * gemm->k, a + (done + i) * p->k, p);
        kernels->gemm_s8(out + done * p->n, p->n, rows, gemm->k, held, gemm);
    }
}

static void mat_mul_s8_run_rows(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    const int8_t *a = ek_in(node, 0), *b = ek_in(node, 1);
    int8_t *out = ek_out(node, 0);
    int16_t *row = node->scratch;
    ek_vecmat_s8 m = { .multiplier = p->multiplier,
                       .shift = p->shift,
                       .zero_point = p->output_zero,
                       .qmin = p->qmin,
                       .qmax = p->qmax,
                       .n = p->n,
                       .k = p->k,
                       .turned = p->transpose_b };
    for (size_t i = 0; i < p->batch; i++, a += p->a_step, b += p->b_step) {
        m.b = b;
        for (size_t r = 0; r < p->rows; r++, out += p->n) {
            int32_t sum = 0;
            for (size_t j = 0; j < p->k; j++) {
                row[j] = (int16_t)(a[r * p->k + j] - p->a_zero);
                sum += row[j];
            }
            m.offset = -p->b_zero * sum;
            node->kernels->vecmat_s8(out, row, &m);
        }
    }
}

static ek_status mat_mul_s8_run(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    if (mat_mul_s8_by_rows(node)) {
        mat_mul_s8_run_rows(node);
        return EK_OK;
    }
    const layout l = plan(p, node->kernels);
    uint8_t *base = node->scratch;
    int32_t *bias = (int32_t *)(void *)(base + l.bias), *multiplier = (int32_t *)(void *)(base + l.multiplier);
    const int8_t *a = ek_in(node, 0), *b = ek_in(node, 1);
    int8_t *out = ek_out(node, 0);
    for (size_t j = 0; j < p->n; j++) multiplier[j] = p->multiplier;
    memset(base + l.shift, p->shift, p->n);
    ek_gemm_s8 gemm = { .requant = { .bias = bias,
                                     .multiplier = multiplier,
                                     .shift = (const int8_t *)(base + l.shift),
                                     .zero_point = p->output_zero,
                                     .qmin = p->qmin,
                                     .qmax = p->qmax },
                        .n = p->n,
                        .k = p->k + extra(p) };
    for (size_t i = 0; i < p->batch; i++) {
        if (i == 0 || p->b_step) {
            gemm.weights = turn(p, b + i * p->b_step, (int8_t *)(base + l.weights), bias);
            if (node->kernels->packed_gemm_s8) {
                node->kernels->pack_gemm_s8(base + l.packed, gemm.weights, bias, gemm.n, gemm.k);
                gemm.weights = base + l.packed;
            }
        }
        mat_mul_s8_multiply(node, out + i * p->rows * p->n, a + i * p->a_step, &gemm);
    }
    return EK_OK;
}

const ek_op ek_op_mat_mul_s8 = {
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .check = mat_mul_s8_check,
    .scratch = mat_mul_s8_scratch,
    .run = mat_mul_s8_run,
};
