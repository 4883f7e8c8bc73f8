/* An operator with all that one can have: scratch, attributes, an optional input. custom_op.py says what it does. */
#include <string.h>

#include "edgekit/custom.h"

typedef struct mix_attributes {
    uint32_t keep;
    int32_t lowest[2];
} mix_attributes;

static uint32_t mix_scratch(const ek_custom_call *call)
{
    return call->inputs[0].count * (uint32_t)sizeof(int16_t);
}

static ek_status mix_check(const ek_custom_call *call)
{
    const mix_attributes *a = call->attributes;
    if (call->input_count < 1 || call->input_count > 2 || call->output_count != 1) return EK_ERR_CORRUPT;
    if (call->attribute_bytes != sizeof *a) return EK_ERR_CORRUPT;
    const ek_custom_tensor *x = call->inputs, *y = call->outputs;
    if (x->count == 0 || y->count != x->count || y->dtype != x->dtype || a->keep > x->count) return EK_ERR_CORRUPT;
    if (x->dtype != EK_DTYPE_INT8 && x->dtype != EK_DTYPE_INT16) return EK_ERR_CORRUPT;
    if (call->input_count == 2 && x[1].count != 0 && x[1].dtype != EK_DTYPE_INT8) return EK_ERR_CORRUPT;
    return EK_OK;
}

static int16_t mix_get(const ek_custom_tensor *x, uint32_t i)
{
    return x->dtype == EK_DTYPE_INT8 ? ((const int8_t *)x->data)[i] : ((const int16_t *)x->data)[i];
}

static ek_status mix_run(const ek_custom_call *call)
{
    const mix_attributes *a = call->attributes;
    const ek_custom_tensor *x = call->inputs, *y = call->outputs;
    const uint32_t limits = call->input_count == 2 ? x[1].count : 0;
    int16_t *line = call->scratch;

    for (uint32_t i = 0; i < x->count; i++) line[i] = mix_get(x, i);
    for (uint32_t i = 0; i < x->count; i++) {
        int32_t q = line[i < a->keep ? i : x->count - 1 - i];
        int32_t lowest = limits != 0 ? mix_get(&x[1], i % limits) : a->lowest[x->dtype == EK_DTYPE_INT16];
        if (lowest < -128) lowest = -128;
        if (lowest > 127) lowest = 127;
        if (q < lowest) q = lowest;
        if (x->dtype == EK_DTYPE_INT8) {
            ((int8_t *)y->data)[i] = (int8_t)q;
        } else {
            ((int16_t *)y->data)[i] = (int16_t)q;
        }
    }
    return EK_OK;
}

EK_CUSTOM_OPERATOR(mix) = {
    .name = "test::Mix", .version = 3, .scratch = mix_scratch, .check = mix_check, .run = mix_run
};
