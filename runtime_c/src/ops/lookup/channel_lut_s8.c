/* A table of 256 results for each channel, of some that channels share. */
#define EK_BODY channel_lut_s8
#include "channel_lut.h"

static ek_status channel_lut_s8_check(const ek_node *n)
{
    return EK_OWN(check_body)(n, n->params, EK_DTYPE_INT8, 256) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status channel_lut_s8_run(const ek_node *n)
{
    const ek_fmt_channel_lut *p = n->params;
    const ek_channel_lut_s8 lut = { p->channels, p->tables, ek_blob(n, p->index), ek_blob(n, p->table) };
    n->kernels->channel_lut_s8(ek_out(n, 0), ek_in(n, 0), p->rows, &lut);
    return EK_OK;
}

const ek_op ek_op_channel_lut_s8 = { .inputs_min = 1,
                                     .inputs_max = 1,
                                     .outputs = 1,
                                     .in_place = EK_INPUT_0,
                                     .check = channel_lut_s8_check,
                                     .run = channel_lut_s8_run };
