#include "toolkit.h"

#include <string.h>

ek_status ek_run_many(ek_session *session, uint32_t count, uint32_t inputs, const uint8_t *const *from,
                      uint32_t outputs, uint8_t *const *to)
{
    ek_io io;
    for (size_t run = 0; run < count; run++) {
        ek_status status = EK_OK;
        for (uint32_t i = 0; i < inputs && status == EK_OK; i++) {
            status = ek_session_input(session, i, &io);
            if (status == EK_OK) memcpy(io.data, from[i] + run * io.bytes, io.bytes);
        }
        if (status == EK_OK) status = ek_run(session);
        for (uint32_t i = 0; i < outputs && status == EK_OK; i++) {
            status = ek_session_output(session, i, &io);
            if (status == EK_OK) memcpy(to[i] + run * io.bytes, io.data, io.bytes);
        }
        if (status != EK_OK) return status;
    }
    return EK_OK;
}
