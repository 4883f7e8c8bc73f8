/* A program for QEMU's mps2-an386 that answers on its first UART (Arm: Cortex-M System Design Kit, APB UART). */
#include "digits_model.h"
#include "edgekit/link.h"
#include "io.h"

typedef struct uart {
    volatile uint32_t data, state, control, interrupt, divider;
} uart;

#define UART0 ((uart *)0x40004000)
enum { FULL_OUT = 1, FULL_IN = 2 };

static uint8_t memory[DIGITS_SESSION_BYTES] __attribute__((aligned(EK_ALIGN)));

static int read(void *context)
{
    (void)context;
    return UART0->state & FULL_IN ? (int)(UART0->data & 255) : -1;
}

static void write(void *context, const uint8_t *data, size_t bytes)
{
    (void)context;
    while (bytes--) {
        while (UART0->state & FULL_OUT) continue;
        UART0->data = *data++;
    }
}

/* In place of DWT->CYCCNT, which QEMU does not count: so often was it read. */
static uint32_t cycles(void *context)
{
    static uint32_t count;
    (void)context;
    return count += 7;
}

int main(void)
{
    static ek_link link = { .read = read, .write = write, .cycles = cycles };
    static ek_model model;
    ek_session *session;

    UART0->divider = 16;
    UART0->control = 3;
    if (digits_model_open(&model, digits_model_data, digits_model_bytes, EK_OPEN_DEFAULT)) return 1;
    if (ek_session_init(&session, memory, sizeof memory, &model, digits_kernels_select(NULL))) return 2;
    link.model = &model;
    link.session = session;
    io_say("ready\n");
    for (;;) ek_link_poll(&link);
}
