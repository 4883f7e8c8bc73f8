/* The body of depthwise_conv2d_*.c, which includes an element_*.h before it and defines ek_params,
 * ek_depthwise, EK_DEPTHWISE (the kernel) and, unless it never packs, EK_PACKED and EK_PACK; and EK_OP,
 * unless it makes its own operator of these functions.
 * EK_LEAVE_OUT, if given, corrects for taps [0, first) and [end, all) in the padding, which the kernel is
 * not going to see; it may use EK_SPARE_BYTES of scratch. */
#include "depthwise_lines.h"

#ifndef EK_LEAVE_OUT
#define EK_SPARE_BYTES(g)                           0
#define EK_LEAVE_OUT(part, node, spare, first, end) (void)(spare)
#endif

static bool check_but_weights(const ek_node *node)
{
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return ek_check_geometry(node, g, EK_ELEMENT_DTYPE) && ek_check_depthwise(g) &&
           EK_CHECK_TAIL(node, p, g->out_c, g->out_c);
}

/* The kernel's part of a line: kernel rows [first, end). */
static ek_depthwise part_of(const ek_node *node, const void *weights, size_t first, size_t end)
{
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return (ek_depthwise){ .weights = (const ek_weight *)weights + first * g->kernel_w * g->out_c,
                           EK_TAIL(node, p, g->out_c, g->out_c),
                           .taps = (uint32_t)(end - first) * g->kernel_w,
                           .c = g->out_c };
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)params)->geometry;
#ifdef EK_PACKED
    if (EK_PACKED) return ek_lines_scratch(g, sizeof(ek_element));
#endif
    (void)kernels;
    return ek_taps_scratch(g, sizeof(ek_element)) + EK_SPARE_BYTES(g);
}

#ifdef EK_PACKED
static uint64_t packed_bytes(const ek_node *node)
{
    const ek_kernels *kernels = node->kernels;
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    return ek_packed_bytes(EK_PACKED, (uint32_t)g->kernel_h * g->kernel_w, g->out_c);
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_kernels *kernels = node->kernels;
    const ek_params *p = node->params;
    const ek_depthwise all = part_of(node, ek_weights_of(node, p->weights), 0, p->geometry.kernel_h);
    EK_PACK(packed, &all);
}

static ek_status run_packed(const ek_node *node)
{
    const ek_kernels *kernels = node->kernels;
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(ek_element);
    const ek_depthwise all = part_of(node, node->packed, 0, g->kernel_h);
    ek_window w = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_lines lines = ek_lines_init(g, &w, sizeof(ek_element), node->scratch, kernels->copy);
    ek_element *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++, out += g->out_w * c) {
            ek_lines_point(&lines, y);
            EK_DEPTHWISE(out, c, (const ek_element *const *)lines.tap, g->stride_w * c, g->out_w, &all);
        }
    }
    return EK_OK;
}
#endif

static ek_status run(const ek_node *node)
{
#ifdef EK_PACKED
    if (node->packed) return run_packed(node);
#endif
    const ek_kernels *kernels = node->kernels;
    const ek_params *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(ek_element);
    ek_window w = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_taps taps = ek_taps_init(g, &w, node->scratch);
    void *spare = (uint8_t *)node->scratch + ek_taps_scratch(g, sizeof(ek_element));
    ek_element *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++) {
            ek_taps_line(&taps, &w, y);
            ek_depthwise part = part_of(node, ek_weights_of(node, p->weights), (size_t)taps.first, (size_t)taps.end);
            EK_LEAVE_OUT(&part, node, spare, (size_t)taps.first * g->kernel_w, (size_t)taps.end * g->kernel_w);
            for (int32_t x = 0, pixels; x < w.out_w; x += pixels, out += (size_t)pixels * c) {
                pixels = ek_taps_point(&taps, &w, y, x);
                EK_DEPTHWISE(out, c, (const ek_element *const *)taps.tap, g->stride_w * c, (size_t)pixels, &part);
            }
        }
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
#ifdef EK_PACKED
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_params, weights),
#endif
    .run = run,
};
#endif
