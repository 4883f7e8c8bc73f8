/* The body of conv2d_f32.c and conv2d_shared_body.h: ek_params is defined and a gemm_*.h included before it; and
 * EK_OP, unless other files make their operators of these functions. */
#include "conv_gemm.h"

static inline uint32_t group_in(const ek_fmt_conv_geometry *g)
{
    return g->in_c / (uint32_t)g->groups;
}
static inline uint32_t group_out(const ek_fmt_conv_geometry *g)
{
    return g->out_c / (uint32_t)g->groups;
}

static bool check_but_weights(const ek_node *node)
{
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return ek_check_geometry(node, g, EK_ELEMENT_DTYPE) && EK_CHECK_TAIL(node, p, g->out_c, g->out_c);
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)params)->geometry;
#ifdef EK_CONV_LINES_H
    if (ek_conv_in_lines(g, kernels)) return ek_conv_lines_scratch(g);
#endif
    return ek_window_needs_no_rows(g) ? 0 : ek_mul64(ek_conv_k(g), ek_gemm_rows(kernels) * sizeof(ek_element));
}

static size_t packed_group(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    return ek_gemm_packed(node->kernels, group_out(g), (uint32_t)ek_conv_k(g));
}

static uint64_t packed_bytes(const ek_node *node)
{
    return (uint64_t)((const ek_params *)node->params)->geometry.groups * packed_group(node);
}

/* The group's weights in the file. */
static inline ek_gemm product(const ek_node *node, size_t group)
{
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint32_t k = (uint32_t)ek_conv_k(g), n = group_out(g);
    ek_gemm gemm = { .weights = (const ek_weight *)ek_weights_of(node, p->weights) + group * n * k,
                     EK_TAIL(node, p, g->out_c, g->out_c),
                     .n = n,
                     .k = k };
    ek_gemm_skip(&gemm, group * n);
    return gemm;
}

static inline void pack(const ek_node *node, void *packed)
{
    const size_t bytes = packed_group(node);
    for (size_t group = 0; group < ((const ek_params *)node->params)->geometry.groups; group++) {
        const ek_gemm gemm = product(node, group);
        ek_gemm_pack(node->kernels, (uint8_t *)packed + group * bytes, &gemm);
    }
}

static inline void run_image(ek_conv *conv, const ek_fmt_conv_geometry *g, const ek_window *w, void *rows)
{
#ifdef EK_CONV_LINES_H
    if (ek_conv_in_lines(g, conv->kernels)) {
        ek_conv_lines_run(conv, g, w, rows);
        return;
    }
#endif
    (void)g;
    ek_conv_run(conv, w, rows);
}

/* Output channels `first` and on of a group, in all images. */
static void run_channels(const ek_node *node, size_t group, size_t first, const ek_gemm *gemm)
{
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const ek_element *in = ek_in(node, 0);
    ek_element *out = ek_out(node, 0);
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c, out_image = (size_t)g->out_h * g->out_w * g->out_c;
    ek_window window = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_conv conv = {
        .kernels = node->kernels, .gemm = *gemm, .out_pixel = g->out_c, .out_row = (size_t)g->out_w * g->out_c
    };
    for (size_t image = 0; image < g->batch; image++) {
        window.in = (const uint8_t *)(in + image * in_image + group * group_in(g));
        conv.out = out + image * out_image + group * group_out(g) + first;
        run_image(&conv, g, &window, node->scratch);
    }
}

static ek_status run(const ek_node *node)
{
    const size_t groups = ((const ek_params *)node->params)->geometry.groups;
    for (size_t group = 0; group < groups; group++) {
        ek_gemm gemm = product(node, group);
        if (node->packed) gemm.weights = (const uint8_t *)node->packed + group * packed_group(node);
        run_channels(node, group, 0, &gemm);
    }
    return EK_OK;
}

#ifdef EK_OP
static ek_status check(const ek_node *node)
{
    const ek_params *p = node->params;
    const uint64_t weights = ek_mul64(ek_mul64(ek_conv_k(&p->geometry), p->geometry.out_c), sizeof(ek_weight));
    return check_but_weights(node) && ek_check_blob(node, p->weights, weights, sizeof(ek_weight)) ? EK_OK
                                                                                                  : EK_ERR_CORRUPT;
}

const ek_op EK_OP = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_params, weights),
    .run = run,
};
#endif
