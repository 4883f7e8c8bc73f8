/* Per-channel energy normalization of a spectrogram [..., frames, channels]; pcen.py says the formula. */
#include <math.h>

#include "edgekit/custom.h"

typedef struct pcen_attributes {
    float smooth, gain, bias, power, floor;
} pcen_attributes;

static uint32_t pcen_scratch(const ek_custom_call *call)
{
    const ek_custom_tensor *x = call->inputs;
    return x->shape[x->rank - 1] * (uint32_t)sizeof(float);
}

static ek_status pcen_check(const ek_custom_call *call)
{
    const ek_custom_tensor *x = call->inputs, *y = call->outputs;
    if (call->input_count != 1 || call->output_count != 1) return EK_ERR_CORRUPT;
    if (call->attribute_bytes != sizeof(pcen_attributes)) return EK_ERR_CORRUPT;
    if (x->count == 0 || x->rank < 2 || y->count != x->count) return EK_ERR_CORRUPT;
    return x->dtype == EK_DTYPE_FLOAT32 && y->dtype == EK_DTYPE_FLOAT32 ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status pcen_run(const ek_custom_call *call)
{
    const pcen_attributes *a = call->attributes;
    const ek_custom_tensor *tensor = call->inputs;
    const uint32_t frames = tensor->shape[tensor->rank - 2], channels = tensor->shape[tensor->rank - 1];
    const float *x = tensor->data, lift = powf(a->bias, a->power);
    float *y = call->outputs->data, *mean = call->scratch;

    for (uint32_t line = 0; line < tensor->count / channels; line++, x += channels, y += channels) {
        for (uint32_t c = 0; c < channels; c++) {
            mean[c] = line % frames == 0 ? x[c] : (1 - a->smooth) * mean[c] + a->smooth * x[c];
            y[c] = powf(x[c] / powf(a->floor + mean[c], a->gain) + a->bias, a->power) - lift;
        }
    }
    return EK_OK;
}

EK_CUSTOM_OPERATOR(pcen) = {
    .name = "example::PCEN", .version = 1, .scratch = pcen_scratch, .check = pcen_check, .run = pcen_run
};
