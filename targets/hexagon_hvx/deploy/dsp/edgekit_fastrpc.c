/* The DSP's side of edgekit_fastrpc.idl, to be compiled with the Hexagon SDK (qaic's
 * edgekit_fastrpc.h, AEEStdErr.h, HAP_power.h, and its C library). NEVER COMPILED OR RUN HERE: a
 * starting point for who has the SDK and a phone.
 *
 * One handle holds one session: calls on one handle must not overlap.
 */
#include <stdlib.h>
#include <string.h>

#include "AEEStdErr.h"
#include "HAP_power.h"
#include "edgekit_dsp.h"
#include "edgekit_fastrpc.h"

typedef struct handle {
    void *memory, *inputs, *outputs; /* FastRPC promises no alignment of what it maps: copies are aligned */
    edgekit_dsp_bytes bytes;
} handle;

static int power_hvx(void *context, int on)
{
    HAP_power_request_t request;
    memset(&request, 0, sizeof request);
    request.type = HAP_power_set_HVX;
    request.hvx.power_up = on;
    return HAP_power_set(context, &request);
}

static void *lines(uint32_t bytes)
{
    return memalign(EDGEKIT_DSP_ALIGN, bytes ? bytes : EDGEKIT_DSP_ALIGN);
}

int edgekit_fastrpc_close(remote_handle64 h)
{
    handle *const o = (handle *)h;
    if (!o) return AEE_EBADPARM;
    power_hvx(o, 0);
    free(o->memory);
    free(o->inputs);
    free(o->outputs);
    free(o);
    return AEE_SUCCESS;
}

int edgekit_fastrpc_open(const char *uri, remote_handle64 *h)
{
    handle *const o = calloc(1, sizeof *o);
    (void)uri;
    if (!o) return AEE_ENOMEMORY;
    if (!edgekit_dsp_sizes(&o->bytes)) {
        o->memory = lines(o->bytes.memory);
        o->inputs = lines(o->bytes.inputs);
        o->outputs = lines(o->bytes.outputs);
    }
    if (!o->memory || !o->inputs || !o->outputs || power_hvx(o, 1) || edgekit_dsp_open(o->memory, o->bytes.memory)) {
        edgekit_fastrpc_close((remote_handle64)o);
        return AEE_EFAILED;
    }
    *h = (remote_handle64)o;
    return AEE_SUCCESS;
}

AEEResult edgekit_fastrpc_sizes(remote_handle64 h, uint32_t *inputs, uint32_t *outputs)
{
    const handle *const o = (const handle *)h;
    *inputs = o->bytes.inputs;
    *outputs = o->bytes.outputs;
    return AEE_SUCCESS;
}

AEEResult edgekit_fastrpc_run(remote_handle64 h, const uint8_t *inputs, int input_bytes, uint8_t *outputs,
                              int output_bytes)
{
    const handle *const o = (const handle *)h;
    if ((uint32_t)input_bytes != o->bytes.inputs || (uint32_t)output_bytes != o->bytes.outputs) return AEE_EBADPARM;
    memcpy(o->inputs, inputs, o->bytes.inputs);
    if (edgekit_dsp_run(o->memory, o->inputs, o->bytes.inputs, o->outputs, o->bytes.outputs)) return AEE_EFAILED;
    memcpy(outputs, o->outputs, o->bytes.outputs);
    return AEE_SUCCESS;
}
