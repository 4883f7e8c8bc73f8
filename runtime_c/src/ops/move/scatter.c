/* Scatter: a tensor of rows with others put or reduced into it at places that may be computed. Built for s8, s16, f32,
 * s32, s64, u64 and f64; those of 8 and 16 bits only take the place of others. */
#include "element.h"
#include "op.h"

#define SCATTER_TYPE_s8  int8_t
#define SCATTER_TYPE_s16 int16_t
#define SCATTER_TYPE_f32 float
#define SCATTER_TYPE_s32 int32_t
#define SCATTER_TYPE_s64 int64_t
#define SCATTER_TYPE_u64 uint64_t
#define SCATTER_TYPE_f64 double
/* What sums and products are computed in, modulo 2^32 or 2^64. */
#define SCATTER_MODULAR_f32 float
#define SCATTER_MODULAR_s32 uint32_t
#define SCATTER_MODULAR_s64 uint64_t
#define SCATTER_MODULAR_u64 uint64_t
#define SCATTER_MODULAR_f64 double

#define SCATTER_NAN_f32(v) ((v) != (v))
#define SCATTER_NAN_s32(v) false
#define SCATTER_NAN_s64(v) false
#define SCATTER_NAN_u64(v) false
#define SCATTER_NAN_f64(v) ((v) != (v))

enum {
    scatter_dtype_s8 = EK_DTYPE_INT8,
    scatter_dtype_s16 = EK_DTYPE_INT16,
    scatter_dtype_f32 = EK_DTYPE_FLOAT32,
    scatter_dtype_s32 = EK_DTYPE_INT32,
    scatter_dtype_s64 = EK_DTYPE_INT64,
    scatter_dtype_u64 = EK_DTYPE_UINT64,
    scatter_dtype_f64 = EK_DTYPE_FLOAT64,
};

#define SCATTER_REDUCES_s8  0
#define SCATTER_REDUCES_s16 0
#define SCATTER_REDUCES_f32 1
#define SCATTER_REDUCES_s32 1
#define SCATTER_REDUCES_s64 1
#define SCATTER_REDUCES_u64 1
#define SCATTER_REDUCES_f64 1

typedef EK_TYPED(SCATTER_TYPE) scatter_number;

static ek_status scatter_check(const ek_node *n)
{
    const ek_fmt_scatter *p = n->params;
    const uint8_t dtype = EK_TYPED(scatter_dtype);
    const uint64_t whole = ek_mul64(p->rows, p->inner), news = ek_mul64(p->count, p->inner);
    const bool fits = whole && news && p->rows <= INT32_MAX && ek_check_in(n, 0, dtype, whole) &&
                      ek_check_in(n, 1, EK_DTYPE_INT32, p->count) && ek_check_in(n, 2, dtype, news) &&
                      ek_check_out(n, 0, dtype, whole);
    const bool known = p->fn == EK_SCATTER_FN_REPLACE || (EK_TYPED(SCATTER_REDUCES) && p->fn <= EK_SCATTER_FN_MAX);
    return fits && known ? EK_OK : EK_ERR_CORRUPT;
}

#if EK_TYPED(SCATTER_REDUCES)
typedef EK_TYPED(SCATTER_MODULAR) scatter_modular;

/* NaN in either gives NaN. */
static scatter_number scatter_reduced(scatter_number a, scatter_number b, uint32_t fn)
{
    switch (fn) {
    case EK_SCATTER_FN_ADD: return (scatter_number)((scatter_modular)a + (scatter_modular)b);
    case EK_SCATTER_FN_MUL: return (scatter_number)((scatter_modular)a * (scatter_modular)b);
    case EK_SCATTER_FN_MIN: return a < b || EK_TYPED(SCATTER_NAN)(a) ? a : b;
    default: return a > b || EK_TYPED(SCATTER_NAN)(a) ? a : b;
    }
}
#endif

static void scatter_row(scatter_number *out, const scatter_number *in, const ek_fmt_scatter *p)
{
#if EK_TYPED(SCATTER_REDUCES)
    if (p->fn != EK_SCATTER_FN_REPLACE) {
        for (size_t i = 0; i < p->inner; i++) out[i] = scatter_reduced(out[i], in[i], p->fn);
        return;
    }
#endif
    memcpy(out, in, p->inner * sizeof *out);
}

static ek_status scatter_run(const ek_node *n)
{
    const ek_fmt_scatter *p = n->params;
    const int32_t *places = ek_in(n, 1);
    const scatter_number *in = ek_in(n, 2);
    scatter_number *out = ek_out(n, 0);
    if (out != ek_in(n, 0)) memcpy(out, ek_in(n, 0), ek_out_type(n, 0)->bytes);
    for (size_t i = 0; i < p->count; i++) {
        int64_t at = places[i];
        at += at < 0 ? (int64_t)p->rows : 0;
        if (at < 0 || at >= (int64_t)p->rows) return EK_ERR_INDEX;
        scatter_row(out + (size_t)at * p->inner, in + i * p->inner, p);
    }
    return EK_OK;
}

const ek_op EK_TYPED(ek_op_scatter) = {
    .inputs_min = 3, .inputs_max = 3, .outputs = 1, .in_place = EK_INPUT_0, .check = scatter_check, .run = scatter_run
};
