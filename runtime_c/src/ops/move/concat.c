/* Concat: each outer step of the output is one row of each input, back to back. */
#include "op.h"

static ek_status concat_check(const ek_node *n)
{
    const ek_fmt_concat *p = n->params;
    const uint32_t out = ek_out_type(n, 0)->bytes;
    /* A step of no bytes would let `outer` count to any number. */
    if (!p->outer || !p->output_step || ek_mul64(p->outer, p->output_step) != out) return EK_ERR_CORRUPT;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n->op->inputs; i++) {
        if (!ek_check_same_dtype(n, i) || ek_in_type(n, i)->bytes % p->outer) return EK_ERR_CORRUPT;
        bytes += ek_in_type(n, i)->bytes;
    }
    return bytes == out ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status concat_run(const ek_node *n)
{
    const ek_fmt_concat *p = n->params;
    uint8_t *out = ek_out(n, 0);
    for (uint32_t i = 0; i < n->op->inputs; i++) {
        const uint8_t *in = ek_in(n, i);
        const size_t row = ek_in_type(n, i)->bytes / p->outer;
        for (size_t o = 0; o < p->outer; o++) memcpy(out + o * p->output_step, in + o * row, row);
        out += row;
    }
    return EK_OK;
}

const ek_op ek_op_concat = {
    .inputs_min = 1, .inputs_max = 255, .outputs = 1, .check = concat_check, .run = concat_run
};
