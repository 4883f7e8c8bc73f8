/* qemu-hexagon run_model INPUTS OUTPUTS: one inference through edgekit_dsp.h, as a phone would do it.
 * INPUTS holds all inputs, OUTPUTS gets all outputs, in the places that edgekit_dsp.h gives them. */
#include "edgekit_dsp.h"
#include "io.h"

enum { ROOM = 32 << 20 };
static uint8_t room[ROOM] __attribute__((aligned(EDGEKIT_DSP_ALIGN)));

int main(int argc, char **argv)
{
    edgekit_dsp_bytes n;
    if (argc != 3) {
        io_say("usage: run_model INPUTS OUTPUTS\n");
        return 1;
    }
    if (edgekit_dsp_sizes(&n) || (uint64_t)n.memory + n.inputs + n.outputs > ROOM) return 2;
    uint8_t *const inputs = room + n.memory, *const outputs = inputs + n.inputs;
    const int in = io_open(argv[1], 0), out = io_open(argv[2], 1);
    if (in < 0 || out < 0 || io_read(in, inputs, n.inputs) == 0) return 3;
    if (edgekit_dsp_open(room, n.memory)) return 4;
    if (edgekit_dsp_run(room, inputs, n.inputs, outputs, n.outputs)) return 5;
    if (io_write(out, outputs, n.outputs) != n.outputs) return 6;
    io_close(in);
    io_close(out);
    return 0;
}
