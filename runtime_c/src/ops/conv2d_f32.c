#include "conv_f32.h"
#include "heavy_checks.h"

static uint32_t group_in(const ek_fmt_conv_geometry *g)
{
    return g->in_c / (uint32_t)g->groups;
}
static uint32_t group_out(const ek_fmt_conv_geometry *g)
{
    return g->out_c / (uint32_t)g->groups;
}

static ek_status check(const ek_node *node)
{
    const ek_fmt_conv2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_DTYPE_FLOAT32) ||
        !ek_check_blob(node, p->weights, ek_mul64(ek_mul64(ek_conv_k(g), g->out_c), sizeof(float)), sizeof(float)) ||
        !ek_check_bias_f32(node, p->bias, g->out_c))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv2d_f32 *)params)->geometry;
    return ek_window_needs_no_rows(g) ? 0 : ek_mul64(ek_conv_k(g), kernels->gemm_f32_rows * sizeof(float));
}

static size_t packed_group(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv2d_f32 *)node->params)->geometry;
    return node->kernels->packed_gemm_f32(group_out(g), (uint32_t)ek_conv_k(g));
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_conv2d_f32 *p = node->params;
    return node->kernels->packed_gemm_f32 ? p->geometry.groups * packed_group(node) : 0;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv2d_f32 *p = node->params;
    const uint32_t k = (uint32_t)ek_conv_k(&p->geometry), n = group_out(&p->geometry);
    const size_t bytes = packed_group(node);
    const float *weights = ek_blob(node, p->weights);
    for (size_t group = 0; group < p->geometry.groups; group++)
        node->kernels->pack_gemm_f32((uint8_t *)packed + group * bytes, weights + group * n * k, n, k);
}

static ek_conv_f32 product(const ek_node *node, size_t group)
{
    const ek_fmt_conv2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint32_t k = (uint32_t)ek_conv_k(g), n = group_out(g);
    const float *weights = ek_blob(node, p->weights), *bias = ek_bias_f32(node, p->bias);
    return (ek_conv_f32){ .kernels = node->kernels,
                          .gemm = { .weights = node->packed ? (const void *)((const uint8_t *)node->packed +
                                                                             group * packed_group(node))
                                                            : weights + group * n * k,
                                    .bias = bias ? bias + group * n : NULL,
                                    .min = p->min,
                                    .max = p->max,
                                    .n = n,
                                    .k = k },
                          .out_pixel = g->out_c,
                          .out_row = (size_t)g->out_w * g->out_c };
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_conv2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const float *in = ek_in(node, 0);
    float *out = ek_out(node, 0);
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c, out_image = (size_t)g->out_h * g->out_w * g->out_c;
    ek_window window = ek_conv_window(g, sizeof(float), 0);
    for (size_t group = 0; group < g->groups; group++) {
        ek_conv_f32 conv = product(node, group);
        for (size_t image = 0; image < g->batch; image++) {
            window.in = (const uint8_t *)(in + image * in_image + group * group_in(g));
            conv.out = out + image * out_image + group * group_out(g);
            ek_conv_f32_run(&conv, &window, node->scratch);
        }
    }
    return EK_OK;
}

const ek_op ek_op_conv2d_f32 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_conv2d_f32, weights),
    .run = run,
};
