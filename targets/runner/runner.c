/* Runs the model that is built in on samples from a file: what `edgekit run --target` executes.
 *
 * INPUT: samples one after another, each all inputs in order as the device holds them; of a model whose dimensions vary
 * (RUNNER_BINDS), their sizes before, a uint32 each.
 * OUTPUT: likewise all outputs, then a trailer of two uint32: the bytes of session memory that were
 * needed, and the stack used (0 where not measured).
 */
#include <stdint.h>

#include "edgekit/edgekit.h"
#include "io.h"
#include "mark.h"

extern const uint8_t ek_model_data[];
extern const uint32_t ek_model_bytes;
extern uint8_t ek_session_memory[];
extern const uint32_t ek_session_bytes;
extern const char ek_kernel_table[]; /* "" takes the best this CPU has */

static ek_model model;

#ifdef RUNNER_BINDS
extern uint8_t ek_bind_memory[];
extern const uint32_t ek_bind_bytes;

enum { MOST_SYMBOLS = 16 };

/* Reads sizes and gives the session those: as read_sample. */
static int bind_sample(ek_session *session, int in)
{
    static uint32_t sizes[MOST_SYMBOLS];
    const uint32_t bytes = ek_symbol_count(&model) * (uint32_t)sizeof sizes[0];
    if (!bytes || bytes > sizeof sizes) return -1;
    const size_t got = io_read(in, sizes, bytes);
    if (got != bytes) return got ? -1 : 0;
    return ek_session_bind(session, &model, sizes, ek_bind_memory, ek_bind_bytes) ? -1 : 1;
}
#endif

static void on_profile(void *context, uint32_t op, int after)
{
    (void)context, (void)op;
    if (after)
        MARK_END();
    else
        MARK_BEGIN();
}

static int fail(const char *what, ek_status status)
{
    io_say(what);
    io_say(": ");
    io_say(ek_status_str(status));
    io_say("\n");
    return 1;
}

/* Reads a whole sample: 1, 0 at the end of the file, -1 when the file ends within a sample. */
static int read_sample(const ek_session *session, int in)
{
    for (uint32_t i = 0; i < ek_input_count(&model); i++) {
        ek_io io;
        if (ek_session_input(session, i, &io)) return -1;
        const size_t got = io_read(in, io.data, io.bytes);
        if (got == 0 && i == 0) return 0;
        if (got != io.bytes) return -1;
    }
    return 1;
}

static int write_outputs(const ek_session *session, int out)
{
    for (uint32_t i = 0; i < ek_output_count(&model); i++) {
        ek_io io;
        if (ek_session_output(session, i, &io)) return -1;
        if (io_write(out, io.data, io.bytes) != io.bytes) return -1;
    }
    return 0;
}

/* argv: PROGRAM INPUT OUTPUT. */
int main(int argc, char **argv)
{
    ek_session *session;
    size_t bytes;
    ek_status status;

    if (argc != 3) return fail("usage: PROGRAM INPUT OUTPUT", EK_ERR_ARG);
    const ek_kernels *kernels = ek_kernels_select(ek_kernel_table[0] ? ek_kernel_table : NULL);
    if (!kernels) return fail("kernels", EK_ERR_UNSUPPORTED);
    status = ek_model_open(&model, ek_model_data, ek_model_bytes, EK_OPEN_CHECKSUM);
    if (status) return fail("opening the model", status);
    status = ek_session_size(&model, kernels, &bytes);
    if (status) return fail("sizing the session", status);
    status = ek_session_init(&session, ek_session_memory, ek_session_bytes, &model, kernels);
    if (status) return fail("making the session", status);
    ek_session_on_profile(session, on_profile, NULL);

    const int in = io_open(argv[1], 0), out = io_open(argv[2], 1);
    if (in < 0 || out < 0) return fail("opening the samples", EK_ERR_ARG);
    for (;;) {
#ifdef RUNNER_BINDS
        const int bound = bind_sample(session, in);
        if (bound < 0) return fail("binding sizes", EK_ERR_ARG);
        if (!bound) break;
#endif
        const int more = read_sample(session, in);
        if (more < 0) return fail("reading a sample", EK_ERR_ARG);
        if (!more) break;
        MARK_BEGIN();
        status = ek_run(session);
        MARK_END();
        if (status) return fail("running", status);
        if (write_outputs(session, out)) return fail("writing outputs", EK_ERR_ARG);
    }
    const uint32_t trailer[2] = { (uint32_t)bytes, (uint32_t)io_stack_used() };
    if (io_write(out, trailer, sizeof trailer) != sizeof trailer) return fail("writing outputs", EK_ERR_ARG);
    io_close(in);
    io_close(out);
    return 0;
}
