/* A model on the DSP: what libedgekit_model.so exports. No globals, no operating system, no allocation.
 *
 * Memory, inputs and outputs are the caller's and aligned to 128 bytes (FastRPC's rpcmem and the DSP's
 * own memalign give that). Inputs lie one after another in the model's order, each from a multiple of
 * 128 on; outputs likewise. Calls with different memory may run at the same time. A thread that calls
 * needs 32 KB of stack and HVX in 128-byte mode.
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

/* All return 0, or what ek_status_str of edgekit.h puts in words. */
int edgekit_dsp_sizes(edgekit_dsp_bytes *sizes);
/* Verifies the model that is built in and packs its weights into `memory`. Once. */
int edgekit_dsp_open(void *memory, uint32_t bytes);
/* One inference. */
int edgekit_dsp_run(void *memory, const void *inputs, uint32_t input_bytes, void *outputs, uint32_t output_bytes);

#ifdef __cplusplus
}
#endif
#endif
