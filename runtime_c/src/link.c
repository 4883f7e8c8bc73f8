/* The board's end of link.h. */
#include "edgekit/link.h"

#include <stdbool.h>
#include <string.h>

enum { HEAD = 4, TAIL = 4, NUMBER = 4 };

static uint32_t link_number(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint8_t *link_put(uint8_t *at, uint32_t number)
{
    for (uint32_t i = 0; i < NUMBER; i++) *at++ = (uint8_t)(number >> (8 * i));
    return at;
}

/* Take COBS off the `bytes` at `data`, in place; returns the bytes left, 0 for what is no COBS. */
static uint32_t link_decode(uint8_t *data, uint32_t bytes)
{
    uint32_t to = 0, from = 0;
    while (from < bytes) {
        const uint32_t code = data[from++];
        if (code == 0 || code - 1 > bytes - from) return 0;
        memmove(data + to, data + from, code - 1);
        to += code - 1;
        from += code - 1;
        if (from < bytes && code < 255) data[to++] = 0;
    }
    return to;
}

static void link_send(const ek_link *link)
{
    static const uint8_t end = 0;
    const uint8_t *data = link->answer;
    const uint32_t bytes = link->answer_bytes;
    /* Runs between zeros are shorter than 254 bytes, for the body is. */
    for (uint32_t from = 0; from <= bytes;) {
        uint32_t to = from;
        while (to < bytes && data[to] != 0) to++;
        const uint8_t code = (uint8_t)(to - from + 1);
        link->write(link->context, &code, 1);
        if (to > from) link->write(link->context, data + from, to - from);
        from = to + 1;
    }
    link->write(link->context, &end, 1);
}

/* The tensor that a request names; of an operator, what lies where its output was written. */
static ek_status link_tensor(const ek_link *link, const uint8_t *request, const uint8_t **data, uint32_t *bytes)
{
    const uint32_t op = link_number(request), index = link_number(request + NUMBER);
    const void *at = NULL;
    ek_status status;

    if (op == EK_LINK_OUTPUT) {
        ek_io io;
        status = ek_session_output(link->session, index, &io);
        if (status == EK_OK) {
            at = io.data;
            *bytes = io.bytes;
        }
    } else {
        status = ek_session_op_output(link->session, op, index, &at, bytes);
    }
    *data = at;
    return status;
}

static ek_status link_read(const ek_link *link, uint8_t command, const uint8_t *request, uint8_t **to)
{
    const uint32_t offset = link_number(request + 2 * NUMBER), count = link_number(request + 3 * NUMBER);
    const uint8_t *data;
    uint32_t bytes;

    const ek_status status = link_tensor(link, request, &data, &bytes);
    if (status != EK_OK) return status;
    if (offset > bytes || count > bytes - offset) return EK_ERR_ARG;
    if (command == EK_LINK_CRC) {
        *to = link_put(link_put(*to, bytes), ek_crc32(0, data + offset, count));
        return EK_OK;
    }
    if (count > EK_LINK_PAYLOAD - 1) return EK_ERR_ARG;
    memcpy(*to, data + offset, count);
    *to += count;
    return EK_OK;
}

static ek_status link_write(const ek_link *link, const uint8_t *request, uint32_t length)
{
    const uint32_t offset = link_number(request + NUMBER), count = length - 2 * NUMBER;
    ek_io io;

    const ek_status status = ek_session_input(link->session, link_number(request), &io);
    if (status != EK_OK) return status;
    if (offset > io.bytes || count > io.bytes - offset) return EK_ERR_ARG;
    memcpy((uint8_t *)io.data + offset, request + 2 * NUMBER, count);
    return EK_OK;
}

static uint32_t link_now(const ek_link *link)
{
    if (link->cycles == NULL) return 0;
    return link->cycles(link->context);
}

static ek_status link_step(const ek_link *link, uint32_t most, uint8_t **to)
{
    uint32_t left = 0;
    const uint32_t before = link_now(link);
    const ek_status status = ek_step(link->session, most, &left);
    const uint32_t after = link_now(link);

    *to = link_put(link_put(*to, left), after - before);
    return status;
}

static void link_hello(const ek_link *link, uint8_t **to)
{
    const ek_model *model = link->model;
    const uint32_t said[] = { EK_LINK_VERSION,        ek_version(),
                              (uint32_t)model->bytes, ek_crc32(0, model->data, model->bytes),
                              model->op_count,        ek_input_count(model),
                              ek_output_count(model), (link->cycles != NULL) ? 1u : 0u };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) *to = link_put(*to, said[i]);
}

/* Execute a request and write the answer's data behind its status. */
static ek_status link_execute(const ek_link *link, uint8_t command, const uint8_t *request, uint32_t length,
                              uint8_t **to)
{
    switch (command) {
    case EK_LINK_HELLO: link_hello(link, to); return EK_OK;
    case EK_LINK_WRITE: return length < 2 * NUMBER ? EK_ERR_ARG : link_write(link, request, length);
    case EK_LINK_STEP: return length != NUMBER ? EK_ERR_ARG : link_step(link, link_number(request), to);
    case EK_LINK_READ:
    case EK_LINK_CRC: return length != 4 * NUMBER ? EK_ERR_ARG : link_read(link, command, request, to);
    case EK_LINK_RESET: return ek_session_reset(link->session);
    default: return EK_ERR_UNSUPPORTED;
    }
}

/* Answer the frame that has come; false if it is none. */
static bool link_answer(ek_link *link)
{
    uint8_t *in = link->frame, *out = link->answer;
    const uint32_t bytes = link_decode(in, link->frame_bytes);

    if (bytes < HEAD + TAIL || bytes > EK_LINK_BODY) return false;
    const uint32_t length = in[2] | (uint32_t)in[3] << 8, crc = link_number(in + bytes - TAIL);
    if (length != bytes - HEAD - TAIL || ek_crc32(0, in, bytes - TAIL) != crc) return false;
    if (link->answer_bytes == 0 || link->request_crc != crc) {
        uint8_t *to = out + HEAD + 1;
        const ek_status status = link_execute(link, in[1], in + HEAD, length, &to);
        const uint32_t made = status == EK_OK ? (uint32_t)(to - out) - HEAD : 1;
        out[0] = in[0];
        out[1] = in[1] | EK_LINK_ANSWER;
        out[2] = (uint8_t)made;
        out[3] = 0;
        out[HEAD] = (uint8_t)(int8_t)status;
        (void)link_put(out + HEAD + made, ek_crc32(0, out, HEAD + made));
        link->answer_bytes = HEAD + made + TAIL;
        link->request_crc = crc;
    }
    link_send(link);
    return true;
}

uint32_t ek_link_poll(ek_link *link)
{
    uint32_t answered = 0;
    for (int byte = link->read(link->context); byte >= 0; byte = link->read(link->context)) {
        if (byte != 0) { /* what is too long is no frame, wherever it ends */
            if (link->frame_bytes < sizeof link->frame) link->frame[link->frame_bytes] = (uint8_t)byte;
            if (link->frame_bytes <= sizeof link->frame) link->frame_bytes++;
            continue;
        }
        if (link->frame_bytes != 0 && link->frame_bytes <= sizeof link->frame && link_answer(link)) answered++;
        link->frame_bytes = 0;
    }
    return answered;
}
