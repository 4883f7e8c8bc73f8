/* The run-time ABI's functions of targets/cortex_m/m0 against results computed elsewhere, in cases.h. */
#include <stddef.h>
#include <stdint.h>

#include "io.h"

enum { LMUL, LLSL, LASR, UIDIV, UIDIVMOD, IDIV, IDIVMOD };

typedef struct test_case {
    uint32_t function;
    uint64_t a, b, wanted;
} test_case;

static const test_case cases[] = {
#include "cases.h"
};

uint64_t __aeabi_lmul(uint64_t a, uint64_t b);
uint64_t __aeabi_llsl(uint64_t a, uint32_t n);
uint64_t __aeabi_lasr(uint64_t a, uint32_t n);
uint32_t __aeabi_uidiv(uint32_t a, uint32_t b);
uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b); /* the rest above the quotient, in r1 */
uint32_t __aeabi_idiv(uint32_t a, uint32_t b);
uint64_t __aeabi_idivmod(uint32_t a, uint32_t b);

static uint64_t result(const test_case *c)
{
    const uint32_t a = (uint32_t)c->a, b = (uint32_t)c->b;
    switch (c->function) {
    case LMUL: return __aeabi_lmul(c->a, c->b);
    case LLSL: return __aeabi_llsl(c->a, b);
    case LASR: return __aeabi_lasr(c->a, b);
    case UIDIV: return __aeabi_uidiv(a, b);
    case UIDIVMOD: return __aeabi_uidivmod(a, b);
    case IDIV: return __aeabi_idiv(a, b);
    default: return __aeabi_idivmod(a, b);
    }
}

static void say_hex(uint64_t value)
{
    char text[20] = " 0x0000000000000000";
    for (char *p = text + 18; value; value >>= 4) *p-- = "0123456789abcdef"[value & 15];
    io_say(text);
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t got = result(&cases[i]);
        if (got == cases[i].wanted) continue;
        io_say("function, a, b, got, wanted:");
        say_hex(cases[i].function), say_hex(cases[i].a), say_hex(cases[i].b), say_hex(got);
        say_hex(cases[i].wanted);
        return 1;
    }
    io_say("agrees");
    return 0;
}
