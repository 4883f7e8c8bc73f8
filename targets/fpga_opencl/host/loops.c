/* How often the innermost loop of each stage turns, from the arguments of an operator. */
#include "device.h"
#include "layer.h"

/* A row of outputs leaves the window while the lines that the next one needs come in. */
static uint64_t window_turns(const ek_window_arguments *w)
{
    const uint64_t emits = (uint64_t)w->columns * w->kernel_h * w->segments * w->parts;
    const int64_t span = (int64_t)(w->kernel_h - 1) * w->dilation_h + 1;
    uint64_t turns = emits;
    int64_t loaded = 0;
    for (uint32_t y = 0; y < w->out_rows; y++) {
        int64_t need = (int64_t)y * w->stride_h + w->top + span;
        need = need > w->row_end ? w->row_end : need;
        need = need > loaded ? need : loaded;
        const uint64_t loads = (uint64_t)(need - loaded) * w->line_words;
        turns += y && loads < emits ? emits : loads;
        loaded = need;
    }
    return turns * w->images;
}

static uint64_t mac_turns(const ek_mac_arguments *m)
{
    const uint64_t pixels = (uint64_t)m->lines * m->pixels;
    switch (m->mode) {
    case EK_MAC_ADD: return 2 * pixels;
    case EK_MAC_CONV: return pixels * m->steps;
    case EK_MAC_DEPTHWISE: {
        const uint64_t later = m->shifts > m->steps ? m->shifts : m->steps;
        return m->lines * (m->first_shifts + (m->pixels - 1) * later + m->steps) + m->steps;
    }
    default: return pixels;
    }
}

static uint64_t pool_turns(const ek_layer *l)
{
    const ek_pool_arguments *p = &l->pool;
    if (p->mode == EK_POOL_PASS) return l->requant.count;
    const uint64_t in = (uint64_t)p->in_h * p->in_w, out = (uint64_t)p->out_h * p->out_w;
    return l->read.images * (in + out * p->kernel_h * p->kernel_w);
}

ek_status ek_opencl_loops_of(ek_opencl_loops *loops, const ek_model *model, uint32_t op, const ek_opencl_config *config,
                             ek_opencl_error *error)
{
    ek_op_record record;
    ek_layer l;
    if (!loops || !model || !config || !error || op >= model->op_count) return EK_ERR_ARG;
    error->text[0] = 0;
    if (!config->vec || !config->lanes) return ek_opencl_fail(error, EK_ERR_ARG, "vec and lanes are positive");
    const ek_node node = ek_node_at(model, op, &record);
    if (!ek_layer_of(&l, &node, config, error)) return EK_ERR_UNSUPPORTED;
    const uint64_t read = (uint64_t)l.read.images * l.read.rows * l.read.parts;
    const bool windowed = l.mac.mode == EK_MAC_CONV || l.mac.mode == EK_MAC_DEPTHWISE;
    *loops = (ek_opencl_loops){
        .read = l.tiles * read,
        .window = l.tiles * (windowed ? window_turns(&l.window) : read),
        .weights = (uint64_t)l.tiles * l.weights.steps * l.weights.repeat,
        .mac = l.tiles * mac_turns(&l.mac),
        .requant = (uint64_t)l.tiles * l.requant.count,
        .pool = l.tiles * pool_turns(&l),
        .write = (uint64_t)l.tiles * l.write.images * l.write.count,
    };
    return EK_OK;
}
