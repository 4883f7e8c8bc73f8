#include "edgekit_dsp.h"

#include <string.h>

#include "edgekit/edgekit.h"
#include "model.h"

#define EXPORT __attribute__((visibility("default")))

enum { OPENED = 0x45444745 };

/* What caller's memory starts with; the session follows. */
typedef struct opened {
    uint32_t state;
    ek_model model;
    ek_session *session;
} opened;

static uint32_t aligned(uint32_t bytes)
{
    return (bytes + EDGEKIT_DSP_ALIGN - 1) / EDGEKIT_DSP_ALIGN * EDGEKIT_DSP_ALIGN;
}
static int is_aligned(const void *p)
{
    return p && (uintptr_t)p % EDGEKIT_DSP_ALIGN == 0;
}

static int all_bytes(const ek_model *model, edgekit_dsp_bytes *sizes)
{
    size_t session;
    ek_io io;
    ek_status status = ek_session_size(model, ek_kernels_select(NULL), &session);
    sizes->memory = aligned(sizeof(opened)) + aligned((uint32_t)session);
    sizes->inputs = sizes->outputs = 0;
    for (uint32_t i = 0; !status && i < ek_input_count(model); i++) {
        status = ek_model_input(model, i, &io);
        sizes->inputs += status ? 0 : aligned((uint32_t)io.bytes);
    }
    for (uint32_t i = 0; !status && i < ek_output_count(model); i++) {
        status = ek_model_output(model, i, &io);
        sizes->outputs += status ? 0 : aligned((uint32_t)io.bytes);
    }
    return status;
}

EXPORT int edgekit_dsp_sizes(edgekit_dsp_bytes *sizes)
{
    ek_model model;
    if (!sizes) return EK_ERR_ARG;
    const ek_status status = ek_model_open(&model, ek_model_data, ek_model_bytes, EK_OPEN_DEFAULT);
    return status ? (int)status : all_bytes(&model, sizes);
}

EXPORT int edgekit_dsp_open(void *memory, uint32_t bytes)
{
    opened *const o = memory;
    if (!is_aligned(memory)) return EK_ERR_ALIGN;
    if (bytes < aligned(sizeof *o)) return EK_ERR_ARG;
    o->state = 0;
    ek_status status = ek_model_open(&o->model, ek_model_data, ek_model_bytes, EK_OPEN_CHECKSUM);
    if (status) return status;
    status = ek_session_init(&o->session, (uint8_t *)memory + aligned(sizeof *o), bytes - aligned(sizeof *o), &o->model,
                             ek_kernels_select(NULL));
    if (!status) o->state = OPENED;
    return status;
}

static int copy_inputs(const opened *o, const uint8_t *inputs, uint32_t bytes)
{
    for (uint32_t i = 0, at = 0; i < ek_input_count(&o->model); i++) {
        ek_io io;
        const ek_status status = ek_session_input(o->session, i, &io);
        if (status) return status;
        if (at + io.bytes > bytes) return EK_ERR_ARG;
        memcpy(io.data, inputs + at, io.bytes);
        at += aligned((uint32_t)io.bytes);
    }
    return EK_OK;
}

static int copy_outputs(const opened *o, uint8_t *outputs, uint32_t bytes)
{
    for (uint32_t i = 0, at = 0; i < ek_output_count(&o->model); i++) {
        ek_io io;
        const ek_status status = ek_session_output(o->session, i, &io);
        if (status) return status;
        if (at + io.bytes > bytes) return EK_ERR_ARG;
        memcpy(outputs + at, io.data, io.bytes);
        at += aligned((uint32_t)io.bytes);
    }
    return EK_OK;
}

EXPORT int edgekit_dsp_run(void *memory, const void *inputs, uint32_t input_bytes, void *outputs, uint32_t output_bytes)
{
    const opened *const o = memory;
    if (!is_aligned(memory) || !is_aligned(inputs) || !is_aligned(outputs)) return EK_ERR_ALIGN;
    if (o->state != OPENED) return EK_ERR_ARG;
    int status = copy_inputs(o, inputs, input_bytes);
    if (!status) status = ek_run(o->session);
    return status ? status : copy_outputs(o, outputs, output_bytes);
}
