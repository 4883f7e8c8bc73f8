/* Weights and tables as the kernels take them. */
#include "layer.h"
#include "ops/heavy_checks.h"

uint64_t ek_layer_weight_bytes(const ek_layer *layer, const ek_opencl_config *config)
{
    return (uint64_t)layer->tiles * layer->mac.steps * config->vec * config->lanes;
}

uint64_t ek_layer_quant_bytes(const ek_layer *layer, const ek_opencl_config *config)
{
    return layer->weights.quantized ? (uint64_t)layer->tiles * config->lanes * 3 * sizeof(int32_t) : 0;
}

/* Weights of any of the kinds as [out][kernel_h][kernel_w][in / groups]. */
typedef struct source {
    const int8_t *weights;
    const ek_fmt_requant *requant;
    uint32_t kernel_h, kernel_w, in, out, groups, dilation_w;
    bool channels_last; /* the file has [kernel_h][kernel_w][out] */
} source;

static source source_of(const ek_node *n)
{
    if (n->op->kind == EK_OP_FULLY_CONNECTED) {
        const ek_fmt_fully_connected *p = n->params;
        return (source){ ek_blob(n, p->weights), &p->requant, 1, 1, p->k, p->n, 1, 1, false };
    }
    const ek_fmt_conv2d *p = n->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return (source){ ek_blob(n, p->weights),
                     &p->requant,
                     g->kernel_h,
                     g->kernel_w,
                     g->in_c / (uint32_t)g->groups,
                     g->out_c,
                     g->groups,
                     g->dilation_w,
                     n->op->kind == EK_OP_CONV2D + EK_VARIANT };
}

/* `tap` counts through kernel_h x kernel_w, `i` through the group's inputs; rows go on into the next tap. */
static int8_t weight(const source *s, uint32_t out, uint32_t tap, uint32_t i)
{
    if (s->channels_last) return s->weights[(size_t)(tap + i) * s->out + out];
    return s->weights[((size_t)out * s->kernel_h * s->kernel_w + tap) * s->in + i];
}

/* The lane's weights of one step, of a window as ek_window walks through it. */
static void pack_dense(int8_t *to, const ek_layer *l, const source *s, const ek_opencl_config *c, uint32_t out,
                       uint32_t step)
{
    const uint32_t parts = l->window.parts, segments = l->window.segments;
    const uint32_t part = step % parts, segment = step / parts % segments, ky = step / parts / segments;
    const uint32_t length = segments == 1 ? s->kernel_w * s->in : s->in;
    for (uint32_t v = 0; v < c->vec; v++) {
        const uint32_t i = part * c->vec + v;
        if (i < length) to[v] = weight(s, out, ky * s->kernel_w + segment, i);
    }
}

/* Slot j of the shift register is the j-th newest tap; they come column by column. */
static void pack_depthwise(int8_t *to, const source *s, const ek_opencl_config *c, uint32_t out, uint32_t step)
{
    const uint32_t taps = s->kernel_h * ((s->kernel_w - 1) * s->dilation_w + 1);
    for (uint32_t v = 0; v < c->vec; v++) {
        const uint32_t slot = step * c->vec + v;
        if (slot >= taps) continue;
        const uint32_t tap = taps - 1 - slot, x = tap / s->kernel_h, ky = tap % s->kernel_h;
        if (x % s->dilation_w == 0) to[v] = weight(s, out, ky * s->kernel_w + x / s->dilation_w, 0);
    }
}

/* The output channel of a lane, or false for one beyond its group. */
static bool channel_of(uint32_t *out, const ek_layer *l, const ek_opencl_config *c, uint32_t tile, uint32_t lane)
{
    const uint32_t group = tile / l->write.group_tiles, at = tile % l->write.group_tiles * c->lanes + lane;
    *out = group * l->write.group_channels + at;
    return at < l->write.group_channels;
}

void ek_layer_pack_weights(int8_t *to, const ek_layer *l, const ek_node *n, const ek_opencl_config *c)
{
    const source s = source_of(n);
    memset(to, 0, (size_t)ek_layer_weight_bytes(l, c));
    for (uint32_t tile = 0; tile < l->tiles; tile++)
        for (uint32_t step = 0; step < l->mac.steps; step++)
            for (uint32_t lane = 0; lane < c->lanes; lane++, to += c->vec) {
                uint32_t out;
                if (!channel_of(&out, l, c, tile, lane)) continue;
                if (l->mac.mode == EK_MAC_DEPTHWISE)
                    pack_depthwise(to, &s, c, out, step);
                else
                    pack_dense(to, l, &s, c, out, step);
            }
}

void ek_layer_pack_quants(int32_t *to, const ek_layer *l, const ek_node *n, const ek_opencl_config *c)
{
    const source s = source_of(n);
    const int32_t *bias = ek_wide_table(n, s.requant), *multiplier = bias + s.out;
    const int8_t *shift = (const int8_t *)(multiplier + s.out);
    memset(to, 0, (size_t)ek_layer_quant_bytes(l, c));
    for (uint32_t tile = 0; tile < l->tiles; tile++, to += (size_t)3 * c->lanes)
        for (uint32_t lane = 0; lane < c->lanes; lane++) {
            uint32_t out;
            if (!channel_of(&out, l, c, tile, lane)) continue;
            to[lane] = bias[out];
            to[c->lanes + lane] = multiplier[out];
            to[2 * c->lanes + lane] = shift[out];
        }
}

void ek_layer_pack_means(int32_t *to, const ek_layer *l, const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    const int32_t *multiplier = ek_blob(n, p->table);
    const int8_t *shift = (const int8_t *)(multiplier + p->counts);
    for (uint32_t i = 0; i < l->pool.counts; i++) {
        to[2 * i] = multiplier[i];
        to[2 * i + 1] = shift[i];
    }
}
