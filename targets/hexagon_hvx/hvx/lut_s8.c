#include "kernels.h"
#include "kernels_ref/reference.h"
#include "vectors.h"

/* vlut32 picks 32 bytes at a time; entries i and 64 + i of a vector's 128 lie side by side. Bytes
 * index as unsigned ones: the upper half of the table comes first. */
typedef struct table {
    HVX_Vector positive, negative;
} table;

EK_INLINE table table_at(const int8_t *p)
{
    return (table){ Q6_Vb_vshuff_Vb(ek_load(p + EK_LINE)), Q6_Vb_vshuff_Vb(ek_load(p)) };
}

EK_INLINE HVX_Vector look_up(HVX_Vector x, table t)
{
    HVX_Vector v = Q6_Vb_vlut32_VbVbI(x, t.positive, 0);
    v = Q6_Vb_vlut32or_VbVbVbI(v, x, t.positive, 1);
    v = Q6_Vb_vlut32or_VbVbVbI(v, x, t.positive, 2);
    v = Q6_Vb_vlut32or_VbVbVbI(v, x, t.positive, 3);
    v = Q6_Vb_vlut32or_VbVbVbI(v, x, t.negative, 4);
    v = Q6_Vb_vlut32or_VbVbVbI(v, x, t.negative, 5);
    v = Q6_Vb_vlut32or_VbVbVbI(v, x, t.negative, 6);
    return Q6_Vb_vlut32or_VbVbVbI(v, x, t.negative, 7);
}

void ek_hvx_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *p)
{
    const table t = table_at(p);
    for (size_t at = 0; at < count; at += EK_LINE)
        ek_store_at(out + at, look_up(ek_load_at(in + at, count - at), t), count - at);
}

/* Lines are looked up in all tables; with more of them one element after the other is faster. The indices are
 * repeated behind their end, so that a line's are one load. */
enum { MOST_TABLES = 16, MOST_CHANNELS = 1024 };

void ek_hvx_channel_lut_s8(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    const size_t channels = p->channels, tables = p->count, count = rows * channels;
    if (tables > MOST_TABLES || channels > MOST_CHANNELS) {
        ek_channel_lut_s8_ref(out, in, rows, p);
        return;
    }
    table t[MOST_TABLES];
    for (size_t k = 0; k < tables; k++) t[k] = table_at(p->tables + 2 * EK_LINE * k);
    uint8_t index[MOST_CHANNELS + EK_LINE];
    for (size_t i = 0; i < channels; i++) index[i] = p->index[i];
    for (size_t i = channels; i < channels + EK_LINE; i++) index[i] = index[i - channels];
    size_t ahead = EK_LINE;
    while (ahead >= channels) ahead -= channels;
    for (size_t at = 0, c = 0; at < count; at += EK_LINE) {
        const HVX_Vector x = ek_load_at(in + at, count - at), here = ek_load(index + c);
        HVX_Vector v = look_up(x, t[0]);
        for (size_t k = 1; k < tables; k++)
            v = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VbVb(here, ek_splat_byte((int32_t)k)), look_up(x, t[k]), v);
        ek_store_at(out + at, v, count - at);
        c += ahead;
        c -= c < channels ? 0 : channels;
    }
}
