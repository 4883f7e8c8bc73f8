/* An interpolated table for each channel, of some that channels share. */
#define EK_BODY channel_lut_s16
#include "channel_lut.h"
#include "lut_s16.h"

static ek_status channel_lut_s16_check(const ek_node *n)
{
    return EK_OWN(check_body)(n, n->params, EK_DTYPE_INT16, LUT_S16_POINTS * sizeof(int16_t)) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status channel_lut_s16_run(const ek_node *n)
{
    const ek_fmt_channel_lut *p = n->params;
    const ek_channel_lut_s16 lut = { p->channels, p->tables, ek_blob(n, p->index), ek_blob(n, p->table) };
    n->kernels->channel_lut_s16(ek_out(n, 0), ek_in(n, 0), p->rows, &lut);
    return EK_OK;
}

const ek_op ek_op_channel_lut_s16 = { .inputs_min = 1,
                                      .inputs_max = 1,
                                      .outputs = 1,
                                      .in_place = EK_INPUT_0,
                                      .check = channel_lut_s16_check,
                                      .run = channel_lut_s16_run };
