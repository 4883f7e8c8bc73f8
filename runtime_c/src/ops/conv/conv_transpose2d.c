/* Transposed convolution: a convolution for each phase of its stride. Built for s8, s16 and f32. */
#include "element.h"

/* clang-format off */
#include EK_TYPED_HEADER(ops/matmul/gemm)
/* clang-format on */
#include "conv_gemm.h"
#include "transpose_phases.h"

static inline uint64_t biases(const ek_fmt_conv_geometry *g)
{
    return (EK_BIAS_PER_PHASE ? (uint64_t)g->stride_h * g->stride_w : 1) * g->out_c;
}

static ek_status conv_transpose2d_check(const ek_node *node)
{
    const ek_fmt_conv_transpose2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint64_t weights = ek_mul64(ek_mul64(ek_conv_k(g), g->out_c), sizeof(ek_weight));
    if (!ek_check_geometry(node, g, EK_ELEMENT_DTYPE) || !ek_check_blob(node, p->weights, weights, sizeof(ek_weight)))
        return EK_ERR_CORRUPT;
    return EK_CHECK_TAIL(node, p, biases(g), g->out_c);
}

static inline ek_table conv_transpose2d_table(const ek_node *node)
{
    const ek_fmt_conv_transpose2d *p = node->params;
    return EK_TABLE(p, biases(&p->geometry), p->geometry.out_c);
}

static uint64_t conv_transpose2d_scratch(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv_transpose2d *)node->params)->geometry;
    return ek_mul64(ek_phases_most_k(g), ek_gemm_rows(node->kernels) * sizeof(ek_element));
}

static uint32_t phase_k(const ek_phases *p)
{
    return ek_phase_taps(p) * (p->geometry->in_c / (uint32_t)p->geometry->groups);
}

static size_t conv_transpose2d_packed_group(const ek_node *node, const ek_phases *p)
{
    const uint32_t k = phase_k(p);
    return k ? ek_gemm_packed(node->kernels, p->geometry->out_c / (uint32_t)p->geometry->groups, k) : 0;
}

static uint64_t conv_transpose2d_packed_bytes(const ek_node *node)
{
    const ek_fmt_conv_transpose2d *p = node->params;
    uint64_t bytes = 0;
    for (ek_phases phases = ek_phases_begin(&p->geometry); ek_phases_next(&phases);)
        bytes += (uint64_t)p->geometry.groups * conv_transpose2d_packed_group(node, &phases);
    return bytes;
}

/* The weights and biases of the first group in the file. */
static ek_gemm conv_transpose2d_product(const ek_node *node, const ek_phases *phases)
{
    const ek_fmt_conv_transpose2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t matrix = (size_t)g->out_c * (g->in_c / g->groups);
    ek_gemm gemm = { .weights = (const ek_weight *)ek_blob(node, p->weights) + ek_phase_weights(phases) * matrix,
                     EK_TAIL(node, p, (size_t)biases(g), g->out_c),
                     .n = g->out_c / (uint32_t)g->groups,
                     .k = phase_k(phases) };
    if (EK_BIAS_PER_PHASE) ek_gemm_skip_biases(&gemm, ek_phase_biases(phases) * g->out_c);
    return gemm;
}

static void next_group(ek_gemm *gemm)
{
    gemm->weights = (const ek_weight *)gemm->weights + (size_t)gemm->n * gemm->k;
    ek_gemm_skip(gemm, gemm->n);
}

static inline void conv_transpose2d_pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv_transpose2d *p = node->params;
    uint8_t *to = packed;
    for (ek_phases phases = ek_phases_begin(&p->geometry); ek_phases_next(&phases);) {
        ek_gemm gemm = conv_transpose2d_product(node, &phases);
        if (!gemm.k) continue;
        for (size_t group = 0; group < p->geometry.groups; group++, next_group(&gemm)) {
            ek_gemm_pack(node->kernels, to, &gemm);
            to += conv_transpose2d_packed_group(node, &phases);
        }
    }
}

/* No tap reaches the phase: its outputs are the bias. */
static void conv_transpose2d_fill(const ek_conv *c, const ek_window *w)
{
    for (int32_t y = 0; y < w->out_h; y++)
        for (int32_t x = 0; x < w->out_w; x++)
            ek_gemm_empty(c->out + (size_t)y * c->out_row + (size_t)x * c->out_pixel, &c->gemm);
}

static void run_phase(const ek_node *node, const ek_phases *phases, ek_conv *conv, ek_window *w)
{
    const ek_fmt_conv_geometry *g = phases->geometry;
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c * sizeof(ek_element);
    const size_t out_image = (size_t)g->out_h * g->out_w * g->out_c;
    for (size_t image = 0; image < g->batch; image++, w->in += in_image, conv->out += out_image) {
        if (conv->gemm.k)
            ek_conv_run(conv, w, node->scratch);
        else
            conv_transpose2d_fill(conv, w);
    }
}

static ek_status conv_transpose2d_run(const ek_node *node)
{
    const ek_fmt_conv_transpose2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint8_t *packed = node->packed;
    for (ek_phases phases = ek_phases_begin(g); ek_phases_next(&phases);) {
        ek_gemm gemm = conv_transpose2d_product(node, &phases);
        const size_t first = ((size_t)phases.y * g->out_w + (size_t)phases.x) * g->out_c;
        for (size_t group = 0; group < g->groups; group++, next_group(&gemm)) {
            ek_conv conv = { .kernels = node->kernels,
                             .gemm = gemm,
                             .out = (ek_element *)ek_out(node, 0) + first + group * gemm.n,
                             .out_pixel = (size_t)g->stride_w * g->out_c,
                             .out_row = (size_t)g->stride_h * g->out_w * g->out_c };
            ek_window w = ek_phase_window(&phases, sizeof(ek_element), EK_FILL(p));
            w.in = (const uint8_t *)ek_in(node, 0) + group * w.part;
            if (packed) {
                conv.gemm.weights = packed;
                packed += conv_transpose2d_packed_group(node, &phases);
            }
            run_phase(node, &phases, &conv, &w);
        }
    }
    return EK_OK;
}

const ek_op EK_TYPED(ek_op_conv_transpose2d) = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = conv_transpose2d_check,
    .scratch = conv_transpose2d_scratch,
    .packed_bytes = conv_transpose2d_packed_bytes,
    .pack = EK_OP_PACK(conv_transpose2d_pack),
    EK_OP_CONSTANTS(ek_fmt_conv_transpose2d, conv_transpose2d_table),
    .run = conv_transpose2d_run,
};
