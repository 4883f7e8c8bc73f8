/* Markers that the instruction counter (targets/emulation/count.c) sees, and nobody else. */
#ifndef EK_RUNNER_MARK_H
#define EK_RUNNER_MARK_H

#if defined(__aarch64__)
#define MARK_BEGIN() __asm__ volatile("hint #0x60" ::: "memory")
#define MARK_END()   __asm__ volatile("hint #0x61" ::: "memory")
#elif defined(__thumb__)
#define MARK_BEGIN() __asm__ volatile(".hword 0xbf70" ::: "memory")
#define MARK_END()   __asm__ volatile(".hword 0xbf80" ::: "memory")
#elif defined(__arm__)
#define MARK_BEGIN() __asm__ volatile(".inst 0xe320f060" ::: "memory")
#define MARK_END()   __asm__ volatile(".inst 0xe320f061" ::: "memory")
#elif defined(__hexagon__)
#define MARK_BEGIN() __asm__ volatile("{ r28 = and(r28, r28) }" ::: "memory")
#define MARK_END()   __asm__ volatile("{ r28 = or(r28, r28) }" ::: "memory")
#elif defined(__riscv)
#define MARK_BEGIN() __asm__ volatile(".4byte 0x06000013" ::: "memory") /* addi zero, zero, 0x60 */
#define MARK_END()   __asm__ volatile(".4byte 0x06100013" ::: "memory")
#else
#define MARK_BEGIN() ((void)0)
#define MARK_END()   ((void)0)
#endif

#endif
