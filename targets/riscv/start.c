/* Start-up of a RISC-V hart in machine mode under QEMU: memory, stack paint, traps, and semihosting as
 * the runner's world (RISC-V International: Semihosting 1.0, with the operations of Arm's IHI 0072). On
 * a board, replace this file by the vendor's start-up: the runtime needs nothing of it.
 */
#include <stdint.h>

/* The three instructions are the call, uncompressed and within one page (16 bytes aligned). */
static int semihost(int operation, const void *argument)
{
    register int a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     ".balign 16\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

static inline __attribute__((always_inline)) uint32_t *stack_pointer(void)
{
    uint32_t *here;
    __asm__ volatile("mv %0, sp" : "=r"(here));
    return here;
}

#include "bare_metal.h"

__attribute__((noreturn, naked, section(".reset"))) void reset(void)
{
    __asm__ volatile(".option push\n"
                     ".option norelax\n"
                     "la gp, __global_pointer$\n"
                     ".option pop\n"
                     "la sp, __stack_top\n"
                     "la t0, fault\n"
                     ".option arch, +zicsr\n"
                     "csrw mtvec, t0\n"
                     "j start\n");
}
