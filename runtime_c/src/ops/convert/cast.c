/* Cast: between float32, int32, uint8 and bool, which is uint8 holding 0 or 1. */
#include "op.h"

enum { TO_BOOL = 0xffff };

static bool known(uint16_t dtype)
{
    return dtype == EK_DTYPE_FLOAT32 || dtype == EK_DTYPE_INT32 || dtype == EK_DTYPE_UINT8;
}

static ek_status cast_check(const ek_node *n)
{
    const ek_fmt_cast *p = n->params;
    const uint16_t to = p->to == TO_BOOL ? EK_DTYPE_UINT8 : p->to;
    const bool fits = known(p->from) && known(to) && ek_check_in(n, 0, (uint8_t)p->from, p->count) &&
                      ek_check_out(n, 0, (uint8_t)to, p->count);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

/* Towards zero, saturating; NaN is 0. */
static inline int32_t to_s32(float x)
{
    return x >= 2147483648.0f ? INT32_MAX : x <= -2147483648.0f ? INT32_MIN : x == x ? (int32_t)x : 0;
}

static inline uint8_t to_u8(float x)
{
    return x >= 255.0f ? 255 : x > 0.0f ? (uint8_t)x : 0;
}

#define CAST(name, from_type, to_type, expression)            \
    static void name(void *out, const void *in, size_t count) \
    {                                                         \
        to_type *to = out;                                    \
        const from_type *from = in;                           \
        for (size_t i = 0; i < count; i++) {                  \
            const from_type x = from[i];                      \
            to[i] = (to_type)(expression);                    \
        }                                                     \
    }

CAST(f32_f32, float, float, x)
CAST(f32_s32, float, int32_t, to_s32(x))
CAST(f32_u8, float, uint8_t, to_u8(x))
CAST(f32_bool, float, uint8_t, x != 0)
CAST(s32_f32, int32_t, float, x)
CAST(s32_s32, int32_t, int32_t, x)
CAST(s32_u8, int32_t, uint8_t, (uint32_t)x)
CAST(s32_bool, int32_t, uint8_t, x != 0)
CAST(u8_f32, uint8_t, float, x)
CAST(u8_s32, uint8_t, int32_t, x)
CAST(u8_u8, uint8_t, uint8_t, x)
CAST(u8_bool, uint8_t, uint8_t, x != 0)

static ek_status cast_run(const ek_node *n)
{
    typedef void cast_fn(void *, const void *, size_t);
    static cast_fn *const casts[3][4] = {
        { f32_f32, f32_s32, f32_u8, f32_bool },
        { s32_f32, s32_s32, s32_u8, s32_bool },
        { u8_f32, u8_s32, u8_u8, u8_bool },
    };
    const ek_fmt_cast *p = n->params;
    const int from = p->from == EK_DTYPE_FLOAT32 ? 0 : p->from == EK_DTYPE_INT32 ? 1 : 2;
    const int to = p->to == EK_DTYPE_FLOAT32 ? 0 : p->to == EK_DTYPE_INT32 ? 1 : p->to == EK_DTYPE_UINT8 ? 2 : 3;
    casts[from][to](ek_out(n, 0), ek_in(n, 0), p->count);
    return EK_OK;
}

const ek_op ek_op_cast = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = cast_check, .run = cast_run };
