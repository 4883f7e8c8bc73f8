#include "conv_lines.h"
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
    const ek_fmt_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_DTYPE_INT8) ||
        !ek_check_blob(node, p->weights, ek_mul64(ek_conv_k(g), g->out_c), 1) ||
        !ek_check_requant(node, &p->requant, g->out_c, g->out_c))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv2d_s8 *)params)->geometry;
    if (ek_conv_in_lines(g, kernels)) return ek_conv_lines_scratch(g);
    return ek_window_needs_no_rows(g) ? 0 : ek_mul64(ek_conv_k(g), kernels->gemm_s8_rows);
}

static size_t packed_group(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_conv2d_s8 *)node->params)->geometry;
    return node->kernels->packed_gemm_s8(group_out(g), (uint32_t)ek_conv_k(g));
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_conv2d_s8 *p = node->params;
    return node->kernels->packed_gemm_s8 ? p->geometry.groups * packed_group(node) : 0;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv2d_s8 *p = node->params;
    const uint32_t k = (uint32_t)ek_conv_k(&p->geometry), n = group_out(&p->geometry);
    const size_t bytes = packed_group(node);
    const int8_t *weights = ek_blob(node, p->weights);
    const int32_t *bias = ek_blob(node, p->requant.table);
    for (size_t group = 0; group < p->geometry.groups; group++)
        node->kernels->pack_gemm_s8((uint8_t *)packed + group * bytes, weights + group * n * k, bias + group * n, n, k);
}

static ek_conv_s8 product(const ek_node *node, size_t group)
{
    const ek_fmt_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint32_t k = (uint32_t)ek_conv_k(g), n = group_out(g);
    const int8_t *weights = ek_blob(node, p->weights);
    ek_requant requant = ek_requant_of(node, &p->requant, g->out_c, g->out_c);
    requant.bias += group * n;
    requant.multiplier += group * n;
    requant.shift += group * n;
    return (ek_conv_s8){ .kernels = node->kernels,
                         .gemm = { .weights = node->packed ? (const void *)((const uint8_t *)node->packed +
                                                                            group * packed_group(node))
                                                           : weights + group * n * k,
                                   .requant = requant,
                                   .n = n,
                                   .k = k },
                         .out_pixel = g->out_c,
                         .out_row = (size_t)g->out_w * g->out_c };
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint8_t *in = ek_in(node, 0);
    int8_t *out = ek_out(node, 0);
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c, out_image = (size_t)g->out_h * g->out_w * g->out_c;
    ek_window window = ek_conv_window(g, 1, (uint8_t)p->requant.input_zero);
    for (size_t group = 0; group < g->groups; group++) {
        ek_conv_s8 conv = product(node, group);
        for (size_t image = 0; image < g->batch; image++) {
            window.in = in + image * in_image + group * group_in(g);
            conv.out = out + image * out_image + group * group_out(g);
            if (ek_conv_in_lines(g, node->kernels))
                ek_conv_lines_run(&conv, g, &window, node->scratch);
            else
                ek_conv_s8_run(&conv, &window, node->scratch);
        }
    }
    return EK_OK;
}

const ek_op ek_op_conv2d_s8 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_conv2d_s8, weights),
    .run = run,
};
