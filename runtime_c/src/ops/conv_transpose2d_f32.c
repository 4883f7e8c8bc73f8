#include <math.h>

#include "conv_f32.h"
#include "transpose_phases.h"

static ek_status check(const ek_node *node)
{
    const ek_fmt_conv_transpose2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_DTYPE_FLOAT32) ||
        !ek_check_blob(node, p->weights, ek_mul64(ek_mul64(ek_conv_k(g), g->out_c), sizeof(float)), sizeof(float)) ||
        !ek_check_bias_f32(node, p->bias, g->out_c))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv_transpose2d_f32 *)params)->geometry;
    return ek_mul64(ek_phases_most_k(g), kernels->gemm_f32_rows * sizeof(float));
}

static uint32_t phase_k(const ek_phases *p)
{
    return ek_phase_taps(p) * (p->geometry->in_c / (uint32_t)p->geometry->groups);
}

static size_t packed_group(const ek_node *node, const ek_phases *p)
{
    const uint32_t k = phase_k(p);
    return k ? node->kernels->packed_gemm_f32(p->geometry->out_c / (uint32_t)p->geometry->groups, k) : 0;
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_conv_transpose2d_f32 *p = node->params;
    size_t bytes = 0;
    if (!node->kernels->packed_gemm_f32) return 0;
    for (ek_phases phases = ek_phases_begin(&p->geometry); ek_phases_next(&phases);)
        bytes += p->geometry.groups * packed_group(node, &phases);
    return bytes;
}

/* The weights and biases of the first group in the file. */
static ek_gemm_f32 product(const ek_node *node, const ek_phases *phases)
{
    const ek_fmt_conv_transpose2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t matrix = (size_t)g->out_c * (g->in_c / g->groups);
    return (ek_gemm_f32){ .weights = (const float *)ek_blob(node, p->weights) + ek_phase_weights(phases) * matrix,
                          .bias = ek_bias_f32(node, p->bias),
                          .min = p->min,
                          .max = p->max,
                          .n = g->out_c / (uint32_t)g->groups,
                          .k = phase_k(phases) };
}

static void next_group(ek_gemm_f32 *gemm)
{
    gemm->weights = (const float *)gemm->weights + (size_t)gemm->n * gemm->k;
    if (gemm->bias) gemm->bias += gemm->n;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv_transpose2d_f32 *p = node->params;
    uint8_t *to = packed;
    for (ek_phases phases = ek_phases_begin(&p->geometry); ek_phases_next(&phases);) {
        ek_gemm_f32 gemm = product(node, &phases);
        if (!gemm.k) continue;
        for (size_t group = 0; group < p->geometry.groups; group++, next_group(&gemm)) {
            node->kernels->pack_gemm_f32(to, gemm.weights, gemm.n, gemm.k);
            to += packed_group(node, &phases);
        }
    }
}

/* No tap reaches the phase: its outputs are the bias. */
static void fill(const ek_conv_f32 *c, const ek_window *w)
{
    const ek_gemm_f32 *g = &c->gemm;
    for (int32_t y = 0; y < w->out_h; y++)
        for (int32_t x = 0; x < w->out_w; x++) {
            float *out = c->out + (size_t)y * c->out_row + (size_t)x * c->out_pixel;
            for (size_t j = 0; j < g->n; j++) out[j] = fminf(fmaxf(g->bias ? g->bias[j] : 0.0f, g->min), g->max);
        }
}

static void run_phase(const ek_node *node, const ek_phases *phases, ek_conv_f32 *conv, ek_window *w)
{
    const ek_fmt_conv_geometry *g = phases->geometry;
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c * sizeof(float);
    const size_t out_image = (size_t)g->out_h * g->out_w * g->out_c;
    for (size_t image = 0; image < g->batch; image++, w->in += in_image, conv->out += out_image) {
        if (conv->gemm.k)
            ek_conv_f32_run(conv, w, node->scratch);
        else
            fill(conv, w);
    }
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv_transpose2d_f32 *)node->params)->geometry;
    const uint8_t *packed = node->packed;
    for (ek_phases phases = ek_phases_begin(g); ek_phases_next(&phases);) {
        ek_gemm_f32 gemm = product(node, &phases);
        const size_t first = ((size_t)phases.y * g->out_w + (size_t)phases.x) * g->out_c;
        for (size_t group = 0; group < g->groups; group++, next_group(&gemm)) {
            ek_conv_f32 conv = { .kernels = node->kernels,
                                 .gemm = gemm,
                                 .out = (float *)ek_out(node, 0) + first + group * gemm.n,
                                 .out_pixel = (size_t)g->stride_w * g->out_c,
                                 .out_row = (size_t)g->stride_h * g->out_w * g->out_c };
            ek_window w = ek_phase_window(&phases, sizeof(float), 0);
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

const ek_op ek_op_conv_transpose2d_f32 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_conv_transpose2d_f32, weights),
    .run = run,
};
