/* Median of neighbours along the last axis, which takes spikes off a signal. */
#include "edgekit/custom.h"

enum { MOST_RADIUS = 3, MOST_WINDOW = 2 * MOST_RADIUS + 1 };

typedef struct median_attributes {
    uint32_t radius;
} median_attributes;

static ek_status median_check(const ek_custom_call *call)
{
    const median_attributes *a = call->attributes;
    if (call->input_count != 1 || call->output_count != 1) return EK_ERR_CORRUPT;
    if (call->attribute_bytes != sizeof *a || a->radius < 1 || a->radius > MOST_RADIUS) return EK_ERR_CORRUPT;
    const ek_custom_tensor *x = call->inputs, *y = call->outputs;
    if (x->count == 0 || x->rank == 0 || y->count != x->count || y->dtype != x->dtype) return EK_ERR_CORRUPT;
    const uint32_t type = x->dtype;
    return type == EK_DTYPE_FLOAT32 || type == EK_DTYPE_INT8 || type == EK_DTYPE_INT16 ? EK_OK : EK_ERR_CORRUPT;
}

static uint32_t clamped(int32_t i, uint32_t n)
{
    return i < 0 ? 0 : (uint32_t)i < n ? (uint32_t)i : n - 1;
}

/* One function for each type: elements of the window in order, by insertion. */
#define MEDIAN_LINE(T)                                                                      \
    static void median_##T(const T *x, T *y, uint32_t n, int32_t radius)                    \
    {                                                                                       \
        for (int32_t i = 0; i < (int32_t)n; i++) {                                          \
            T window[MOST_WINDOW];                                                          \
            int32_t have = 0;                                                               \
            for (int32_t k = i - radius; k <= i + radius; k++, have++) {                    \
                const T value = x[clamped(k, n)];                                           \
                int32_t at = have;                                                          \
                for (; at > 0 && window[at - 1] > value; at--) window[at] = window[at - 1]; \
                window[at] = value;                                                         \
            }                                                                               \
            y[i] = window[radius];                                                          \
        }                                                                                   \
    }
MEDIAN_LINE(float)
MEDIAN_LINE(int8_t)
MEDIAN_LINE(int16_t)

static ek_status median_run(const ek_custom_call *call)
{
    const median_attributes *a = call->attributes;
    const ek_custom_tensor *x = call->inputs, *y = call->outputs;
    const uint32_t n = x->shape[x->rank - 1];
    const int32_t radius = (int32_t)a->radius;

    for (uint32_t at = 0; at < x->count; at += n) {
        switch (x->dtype) {
        case EK_DTYPE_INT8: median_int8_t((const int8_t *)x->data + at, (int8_t *)y->data + at, n, radius); break;
        case EK_DTYPE_INT16: median_int16_t((const int16_t *)x->data + at, (int16_t *)y->data + at, n, radius); break;
        default: median_float((const float *)x->data + at, (float *)y->data + at, n, radius); break;
        }
    }
    return EK_OK;
}

EK_CUSTOM_OPERATOR(median) = { .name = "example::Median", .version = 1, .check = median_check, .run = median_run };
