#include "conv_s8.h"
#include "fixed_point.h"
#include "transpose_phases.h"

static size_t phase_count(const ek_fmt_conv_geometry *g)
{
    return (size_t)g->stride_h * g->stride_w;
}

static ek_status check(const ek_node *node)
{
    const ek_fmt_conv_transpose2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_DTYPE_INT8) ||
        !ek_check_blob(node, p->weights, ek_mul64(ek_conv_k(g), g->out_c), 1) ||
        !ek_check_requant(node, &p->requant, (uint64_t)g->stride_h * g->stride_w * g->out_c, g->out_c))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    return ek_mul64(ek_phases_most_k(&((const ek_fmt_conv_transpose2d_s8 *)params)->geometry), kernels->gemm_s8_rows);
}

static uint32_t phase_k(const ek_phases *p)
{
    return ek_phase_taps(p) * (p->geometry->in_c / (uint32_t)p->geometry->groups);
}

static size_t packed_group(const ek_node *node, const ek_phases *p)
{
    const uint32_t k = phase_k(p);
    return k ? node->kernels->packed_gemm_s8(p->geometry->out_c / (uint32_t)p->geometry->groups, k) : 0;
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_conv_transpose2d_s8 *p = node->params;
    size_t bytes = 0;
    if (!node->kernels->packed_gemm_s8) return 0;
    for (ek_phases phases = ek_phases_begin(&p->geometry); ek_phases_next(&phases);)
        bytes += p->geometry.groups * packed_group(node, &phases);
    return bytes;
}

/* The weights and biases of the first group in the file. */
static ek_gemm_s8 product(const ek_node *node, const ek_phases *phases)
{
    const ek_fmt_conv_transpose2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t matrix = (size_t)g->out_c * (g->in_c / g->groups);
    ek_gemm_s8 gemm = { .weights = (const int8_t *)ek_blob(node, p->weights) + ek_phase_weights(phases) * matrix,
                        .requant = ek_requant_of(node, &p->requant, phase_count(g) * g->out_c, g->out_c),
                        .n = g->out_c / (uint32_t)g->groups,
                        .k = phase_k(phases) };
    gemm.requant.bias += ek_phase_biases(phases) * g->out_c;
    return gemm;
}

static void next_group(ek_gemm_s8 *gemm)
{
    gemm->weights = (const int8_t *)gemm->weights + (size_t)gemm->n * gemm->k;
    gemm->requant.bias += gemm->n;
    gemm->requant.multiplier += gemm->n;
    gemm->requant.shift += gemm->n;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv_transpose2d_s8 *p = node->params;
    uint8_t *to = packed;
    for (ek_phases phases = ek_phases_begin(&p->geometry); ek_phases_next(&phases);) {
        ek_gemm_s8 gemm = product(node, &phases);
        if (!gemm.k) continue;
        for (size_t group = 0; group < p->geometry.groups; group++, next_group(&gemm)) {
            node->kernels->pack_gemm_s8(to, gemm.weights, gemm.requant.bias, gemm.n, gemm.k);
            to += packed_group(node, &phases);
        }
    }
}

/* No tap reaches the phase: its outputs are the bias. */
static void fill(const ek_conv_s8 *c, const ek_window *w)
{
    const ek_requant *r = &c->gemm.requant;
    for (int32_t y = 0; y < w->out_h; y++)
        for (int32_t x = 0; x < w->out_w; x++) {
            int8_t *out = c->out + (size_t)y * c->out_row + (size_t)x * c->out_pixel;
            for (size_t j = 0; j < c->gemm.n; j++)
                out[j] = ek_requantize(r->bias[j], r->multiplier[j], r->shift[j], r->zero_point, r->qmin, r->qmax);
        }
}

static void run_phase(const ek_node *node, const ek_phases *phases, ek_conv_s8 *conv, ek_window *w)
{
    const ek_fmt_conv_geometry *g = phases->geometry;
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c, out_image = (size_t)g->out_h * g->out_w * g->out_c;
    for (size_t image = 0; image < g->batch; image++, w->in += in_image, conv->out += out_image) {
        if (conv->gemm.k)
            ek_conv_s8_run(conv, w, node->scratch);
        else
            fill(conv, w);
    }
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_conv_transpose2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint8_t *packed = node->packed;
    for (ek_phases phases = ek_phases_begin(g); ek_phases_next(&phases);) {
        ek_gemm_s8 gemm = product(node, &phases);
        const size_t first = ((size_t)phases.y * g->out_w + (size_t)phases.x) * g->out_c;
        for (size_t group = 0; group < g->groups; group++, next_group(&gemm)) {
            ek_conv_s8 conv = { .kernels = node->kernels,
                                .gemm = gemm,
                                .out = (int8_t *)ek_out(node, 0) + first + group * gemm.n,
                                .out_pixel = (size_t)g->stride_w * g->out_c,
                                .out_row = (size_t)g->stride_h * g->out_w * g->out_c };
            ek_window w = ek_phase_window(&phases, 1, (uint8_t)p->requant.input_zero);
            w.in = (const uint8_t *)ek_in(node, 0) + group * w.part;
            if (packed) {
                conv.gemm.weights = packed;
                packed += packed_group(node, &phases);
            }
            run_phase(node, &phases, &conv, &w);
        }
    }
    return EK_OK;
}

const ek_op ek_op_conv_transpose2d_s8 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_conv_transpose2d_s8, weights),
    .run = run,
};
