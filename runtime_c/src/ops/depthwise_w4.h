/* The body of depthwise_conv2d_w4*.c, which define ek_params, include a depthwise_s*.h and define EK_OP before it. */
#include "w4.h"

static uint64_t taps_of(const ek_fmt_conv_geometry *g)
{
    return (uint64_t)g->kernel_h * g->kernel_w;
}

static ek_status check_w4(const ek_node *node)
{
    const ek_params *p = node->params;
    const uint64_t taps = taps_of(&p->geometry), c = p->geometry.out_c;
    return check_but_weights(node) && ek_check_w4(node, p->weights, taps, c, p->group, p->multipliers, c, taps)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static uint64_t plain_bytes(const ek_fmt_conv_geometry *g)
{
    return ek_align16(taps_of(g) * g->out_c);
}

static uint64_t packed_plain(const ek_fmt_conv_geometry *g, const ek_kernels *kernels)
{
    return ek_packed_bytes(EK_PACKED, (uint32_t)taps_of(g), g->out_c);
}

/* The unpacked weights, and as the kernels want them. Too much where they cannot pack them. */
static uint64_t scratch_w4(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)params)->geometry;
    if (EK_PACKED && !EK_PACK) return UINT64_MAX;
    return ek_add64(ek_align16(scratch(params, kernels)), plain_bytes(g) + packed_plain(g, kernels));
}

static void unpack(const ek_node *node, int8_t *to)
{
    const ek_params *p = node->params;
    const size_t taps = (size_t)taps_of(&p->geometry), c = p->geometry.out_c, groups = ek_w4_groups(taps, p->group);
    const uint8_t *row = ek_blob(node, p->weights), *multipliers = ek_blob(node, p->multipliers);
    for (size_t t = 0; t < taps; t++, row += ek_w4_row(c))
        for (size_t j = 0; j < c; j++) {
            const int32_t m = p->group ? multipliers[j * groups + t / p->group] : 1;
            *to++ = (int8_t)(ek_w4_at(row, j) * m);
        }
}

static uint64_t packed_w4(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    return ek_w4_kept(node, packed_bytes(node), plain_bytes(g));
}

static void pack_from(const ek_node *node, void *packed, int8_t *plain)
{
    const ek_kernels *kernels = node->kernels;
    const ek_node n = ek_w4_plain(node, plain);
    unpack(node, plain);
    if (EK_PACKED) pack(&n, packed);
}

/* To unpack them before they are packed. */
static inline uint64_t room_w4(const ek_node *node)
{
    const ek_kernels *kernels = node->kernels;
    return EK_PACKED ? plain_bytes(&((const ek_params *)node->params)->geometry) : 0;
}

static inline void pack_w4(const ek_node *node, void *packed)
{
    pack_from(node, packed, (int8_t *)packed + packed_bytes(node));
}

static ek_status run_w4(const ek_node *node)
{
    const ek_kernels *kernels = node->kernels;
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    uint8_t *plain = (uint8_t *)node->scratch + ek_align16(scratch(node->params, kernels)),
            *packed = plain + plain_bytes(g);
    ek_node n = ek_w4_plain(node, node->packed ? node->packed : plain);
    if (!node->packed) pack_from(node, packed, (int8_t *)plain);
    if (EK_PACKED) n.packed = node->packed ? node->packed : packed;
    return run(&n);
}

const ek_op EK_OP = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check_w4,
    .scratch = scratch_w4,
    .packed_bytes = packed_w4,
    EK_OP_PACK_IN(room_w4, pack_w4),
    .weights_at = offsetof(ek_params, weights),
    .run = run_w4,
};
