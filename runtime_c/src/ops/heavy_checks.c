/* The checks of ops/heavy_checks.h that are long: once for all operators. */
#include "ops/heavy_checks.h"

#include "fixed_point.h"

/* int32 bias[biases], int32 multiplier[n], shift[n] are in the blob. */
static bool has_wide(const ek_node *node, const ek_fmt_requant *r, uint64_t biases, uint64_t n)
{
    return ek_check_blob(node, r->table, ek_add64(ek_mul64(ek_add64(biases, n), 4), n), 4);
}

ek_status ek_check_requant(const ek_node *node, const ek_fmt_requant *r, uint64_t biases, uint64_t n)
{
    if (!ek_is_s8(r->input_zero) || !ek_check_q_range(r->output_zero, r->qmin, r->qmax)) return EK_ERR_CORRUPT;
    if (r->tight) return ek_check_tight(node, &EK_TABLE_S8(r, biases, n));
    if (!has_wide(node, r, biases, n)) return EK_ERR_CORRUPT;
    const int32_t *multiplier = (const int32_t *)ek_blob(node, r->table) + biases;
    const int8_t *shift = (const int8_t *)(multiplier + n);
    for (uint64_t i = 0; i < n; i++)
        if (!ek_is_ratio(multiplier[i], shift[i])) return EK_ERR_CORRUPT;
    return EK_OK;
}

ek_status ek_check_requant16(const ek_node *node, const ek_fmt_requant *r, uint64_t biases, uint64_t n)
{
    if (r->input_zero || r->output_zero || !ek_check_q_range16(r->qmin, r->qmax)) return EK_ERR_CORRUPT;
    if (r->tight) return ek_check_tight(node, &EK_TABLE_S16(r, biases, n));
    if (!has_wide(node, r, biases, n)) return EK_ERR_CORRUPT;
    const int32_t *multiplier = (const int32_t *)ek_blob(node, r->table) + biases;
    const uint8_t *shift = (const uint8_t *)(multiplier + n);
    for (uint64_t i = 0; i < n; i++)
        if (!ek_is_ratio16(multiplier[i], shift[i])) return EK_ERR_CORRUPT;
    return EK_OK;
}

bool ek_check_geometry(const ek_node *node, const ek_fmt_conv_geometry *g, uint8_t dtype)
{
    const uint32_t nonzero[] = { g->in_h,     g->in_w,     g->out_h,      g->out_w,     g->batch,
                                 g->in_c,     g->out_c,    g->groups,     g->kernel_h,  g->kernel_w,
                                 g->stride_h, g->stride_w, g->dilation_h, g->dilation_w };
    for (size_t i = 0; i < sizeof nonzero / sizeof *nonzero; i++)
        if (!nonzero[i]) return false;
    const uint64_t limit = UINT64_C(1) << 30;
    const uint64_t reach_h = (uint64_t)g->out_h * g->stride_h + (uint64_t)g->kernel_h * g->dilation_h + g->pad_top;
    const uint64_t reach_w = (uint64_t)g->out_w * g->stride_w + (uint64_t)g->kernel_w * g->dilation_w + g->pad_left;
    return g->in_h <= limit && g->in_w <= limit && reach_h <= limit && reach_w <= limit && g->in_c % g->groups == 0 &&
           g->out_c % g->groups == 0 && ek_check_in(node, 0, dtype, ek_size4(g->batch, g->in_h, g->in_w, g->in_c)) &&
           ek_check_out(node, 0, dtype, ek_size4(g->batch, g->out_h, g->out_w, g->out_c));
}

/* No table pads either side by 128, or takes more than 4 bytes for a weight. */
size_t ek_packed_bytes(ek_packed_fn *packed, uint32_t n, uint32_t k)
{
    if (!packed) return 0;
    if (sizeof(size_t) == 4 && ((n | k) >> 31 || n + 128 > UINT32_MAX / 4 / (k + 128))) return SIZE_MAX;
    return packed(n, k);
}
