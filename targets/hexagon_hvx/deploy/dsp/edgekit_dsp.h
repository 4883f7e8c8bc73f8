/* A model on the DSP: the functions of libedgekit_model.so. No globals, no operating system, no allocation.
 *
 * Memory, inputs and outputs are provided by the caller, aligned to 128 bytes (as by FastRPC's rpcmem and the
 * DSP's memalign). Inputs are stored one after another in the model's order, each at a multiple of 128; outputs
 * likewise. Calls with different memory may run concurrently. The calling thread needs 32 KB of stack and HVX
 * in 128-byte mode.
 */
#ifndef EDGEKIT_DSP_H
#define EDGEKIT_DSP_H

#include <stdint.h>

#define EDGEKIT_DSP_ALIGN 128

#ifdef __cplusplus
extern "C" {
#endif

typedef struct edgekit_dsp_bytes {
    uint32_t memory, inputs, outputs;
} edgekit_dsp_bytes;

/* All return 0, or an ek_status of edgekit.h; ek_status_str describes it. */
int edgekit_dsp_sizes(edgekit_dsp_bytes *sizes);
/* Verifies the built-in model and packs its weights into `memory`. Call it once. */
int edgekit_dsp_open(void *memory, uint32_t bytes);
/* One inference. */
int edgekit_dsp_run(void *memory, const void *inputs, uint32_t input_bytes, void *outputs, uint32_t output_bytes);

#ifdef __cplusplus
}
#endif
#endif
