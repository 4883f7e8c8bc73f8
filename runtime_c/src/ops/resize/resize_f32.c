#include "resize.h"

static ek_status resize_f32_check(const ek_node *n)
{
    return ek_check_resize(n, n->params, EK_DTYPE_FLOAT32) ? EK_OK : EK_ERR_CORRUPT;
}

/* A weight is stored as the bits of a float. */
static inline float weight_at(ek_sources s, uint32_t i)
{
    float w;
    memcpy(&w, &s.weight[i], sizeof w);
    return w;
}

static void resize_f32_linear_row(const ek_resize *p, float *out, const float *top, const float *bottom, float wy,
                                  ek_sources columns)
{
    const size_t c = p->channels;
    for (uint32_t x = 0; x < p->out_w; x++, out += c) {
        const size_t lo = (size_t)columns.lo[x] * c, hi = (size_t)columns.hi[x] * c;
        const float wx = weight_at(columns, x);
        const float w00 = (1 - wx) * (1 - wy), w01 = wx * (1 - wy), w10 = (1 - wx) * wy, w11 = wx * wy;
        for (size_t j = 0; j < c; j++)
            out[j] = w00 * top[lo + j] + w01 * top[hi + j] + w10 * bottom[lo + j] + w11 * bottom[hi + j];
    }
}

static ek_status resize_f32_run(const ek_node *n)
{
    const ek_resize *p = n->params;
    if (!p->linear) {
        ek_resize_nearest(n, p, sizeof(float));
        return EK_OK;
    }
    const ek_sources rows = ek_resize_rows(n, p), columns = ek_resize_columns(n, p);
    const size_t in_line = (size_t)p->in_w * p->channels, out_line = (size_t)p->out_w * p->channels;
    const float *image = ek_in(n, 0);
    float *out = ek_out(n, 0);
    for (uint32_t b = 0; b < p->batch; b++, image += p->in_h * in_line)
        for (uint32_t y = 0; y < p->out_h; y++, out += out_line)
            resize_f32_linear_row(p, out, image + (size_t)rows.lo[y] * in_line, image + (size_t)rows.hi[y] * in_line,
                                  weight_at(rows, y), columns);
    return EK_OK;
}

const ek_op ek_op_resize_f32 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = resize_f32_check, .run = resize_f32_run
};
