/* Start-up of a Cortex-M under QEMU: vectors, memory, FPU, stack paint, and semihosting as the
 * runner's world (Arm: Semihosting for AArch32 and AArch64, IHI 0072). On a board, replace this
 * file by the vendor's start-up: the runtime needs nothing of it.
 */
#include <stdint.h>

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static inline __attribute__((always_inline)) uint32_t *stack_pointer(void)
{
    uint32_t *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    return here;
}

#include "bare_metal.h"

__attribute__((noreturn, naked)) void reset(void)
{
    __asm__ volatile("ldr r0, =__stack_top\n"
                     "mov sp, r0\n"
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
                     "ldr r0, =0xe000ed88\n" /* CPACR: full access to the FPU and MVE */
                     "ldr r1, [r0]\n"
                     "orr r1, #0xf00000\n"
                     "str r1, [r0]\n"
                     "dsb\n"
                     "isb\n"
#endif
                     "ldr r0, =%c0\n"
                     "bx r0\n" ::"i"(start));
}

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    __stack_top,
    (void *)reset,
    (void *)fault,
    (void *)fault,
    (void *)fault,
    (void *)fault,
    (void *)fault,
    0,
    0,
    0,
    0,
    (void *)fault,
    (void *)fault,
    0,
    (void *)fault,
    (void *)fault,
};
