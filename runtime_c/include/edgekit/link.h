/* edgekit on a board, asked by edgekit on a desk: a small protocol over any stream of bytes, such as a UART.
 *
 * `edgekit check --target serial:/dev/ttyACM0` writes samples to the board, runs them there and compares what every
 * operator makes; `edgekit bench` counts its cycles. The program on the board calls ek_link_poll from its main loop:
 *
 *     static ek_link link = { .read = uart_read, .write = uart_write, .cycles = cycle_counter };
 *     link.model = &model;
 *     link.session = session;
 *     for (;;) ek_link_poll(&link);
 *
 * A frame is seq, command, length (16 bits), `length` bytes, and the CRC-32 of all these, numbers with the low byte
 * first, in COBS (Cheshire and Baker: Consistent Overhead Byte Stuffing, 1997) with a 0 behind it. A frame that is
 * damaged is dropped; the desk asks again. A request that comes twice is answered twice and executed once.
 */
#ifndef EDGEKIT_LINK_H
#define EDGEKIT_LINK_H

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EK_LINK_VERSION = 1,
    EK_LINK_PAYLOAD = 240, /* bytes of a frame's data at most */
    EK_LINK_BODY = EK_LINK_PAYLOAD + 8,
    EK_LINK_OUTPUT = 0xffff, /* in place of an operator: the outputs of the session */
    EK_LINK_ANSWER = 0x80    /* in the command of an answer, whose data begins with an ek_status of 8 bits */
};

/* All numbers in a request or an answer are of 32 bits. */
enum {
    EK_LINK_HELLO = 1, /* -> version, ek_version(), bytes and CRC-32 of the model file, operators, inputs, outputs,
                          1 if cycles are counted */
    EK_LINK_WRITE = 2, /* input, offset, bytes to write there */
    EK_LINK_STEP = 3,  /* operators at most -> operators left, cycles they took */
    EK_LINK_READ = 4,  /* operator or EK_LINK_OUTPUT, index, offset, count -> bytes */
    EK_LINK_CRC = 5,   /* the same -> bytes of the whole tensor, CRC-32 of that part of it */
    EK_LINK_RESET = 6  /* state as at first, no run under way */
};

typedef struct ek_link {
    int (*read)(void *context); /* the next byte, or -1 if there is none yet */
    void (*write)(void *context, const uint8_t *data, size_t bytes);
    uint32_t (*cycles)(void *context); /* a counter that runs on, such as DWT->CYCCNT; NULL if there is none */
    void *context;
    const ek_model *model;
    ek_session *session;
    /* Private, zeros at first. */
    uint8_t frame[EK_LINK_BODY + 2], answer[EK_LINK_BODY];
    uint32_t frame_bytes, answer_bytes, request_crc;
} ek_link;

/* Take the bytes that are there and answer the requests among them; returns how many were answered. */
uint32_t ek_link_poll(ek_link *link);

#ifdef __cplusplus
}
#endif
#endif
