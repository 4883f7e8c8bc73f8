#include "kernels.h"

/* Loops under tail predication (wlstp, letp): the last step moves what is left. */
void ek_mve_copy(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, size_t n, size_t count)
{
    for (; count; count--, to += to_step, from += from_step) {
        uint8_t *t = to;
        const uint8_t *f = from;
        __asm__ volatile("wlstp.8 lr, %[n], 2f\n"
                         "1:\n"
                         "vldrb.8 q0, [%[f]], #16\n"
                         "vstrb.8 q0, [%[t]], #16\n"
                         "letp lr, 1b\n"
                         "2:\n"
                         : [t] "+r"(t), [f] "+r"(f)
                         : [n] "r"(n)
                         : "lr", "q0", "memory");
    }
}
