/* A protocol between edgekit on a host and a board, over any byte stream, such as a UART.
 *
 * `edgekit check --target serial:/dev/ttyACM0` writes samples to the board, runs them there and compares the output of
 * every operator; `edgekit bench` counts its cycles. The program on the board calls ek_link_poll from its main loop:
 *
 *     static ek_link link = { .read = uart_read, .write = uart_write, .cycles = cycle_counter };
 *     link.model = &model;
 *     link.session = session;
 *     for (;;) ek_link_poll(&link);
 *
 * A frame is sequence number, command, length (16 bits), `length` bytes, and the CRC-32 of all these, little-endian,
 * encoded with COBS (Cheshire and Baker: Consistent Overhead Byte Stuffing, 1997) and terminated by 0. Damaged frames
 * are dropped; the host repeats its request. A repeated request is answered again, but executed once.
 */
#ifndef EDGEKIT_LINK_H
#define EDGEKIT_LINK_H

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EK_LINK_VERSION = 1,
    EK_LINK_PAYLOAD = 240, /* maximum data of a frame in bytes */
    EK_LINK_BODY = EK_LINK_PAYLOAD + 8,
    EK_LINK_OUTPUT = 0xffff, /* in place of an operator index: the outputs of the session */
    EK_LINK_ANSWER = 0x80    /* set in the command of an answer, whose data begins with an 8-bit ek_status */
};

/* All numbers in requests and answers have 32 bits. */
enum {
    EK_LINK_HELLO = 1, /* -> version, ek_version(), bytes and CRC-32 of the model file, operators, inputs, outputs,
                          1 if cycles are counted */
    EK_LINK_WRITE = 2, /* input, offset, data to write there */
    EK_LINK_STEP = 3,  /* maximum number of operators -> operators left, cycles used */
    EK_LINK_READ = 4,  /* operator or EK_LINK_OUTPUT, index, offset, count -> data */
    EK_LINK_CRC = 5,   /* the same -> size of the whole tensor in bytes, CRC-32 of this part */
    EK_LINK_RESET = 6  /* reset the state, abandon a run in progress */
};

typedef struct ek_link {
    int (*read)(void *context); /* the next byte, or -1 if none is available */
    void (*write)(void *context, const uint8_t *data, size_t bytes);
    uint32_t (*cycles)(void *context); /* a free-running counter, such as DWT->CYCCNT; NULL if there is none */
    void *context;
    const ek_model *model;
    ek_session *session;
    /* Private; initialize to zeros. */
    uint8_t frame[EK_LINK_BODY + 2], answer[EK_LINK_BODY];
    uint32_t frame_bytes, answer_bytes, request_crc;
} ek_link;

/* Read the available bytes and answer complete requests; returns the number of answers. */
uint32_t ek_link_poll(ek_link *link);

#ifdef __cplusplus
}
#endif
#endif
