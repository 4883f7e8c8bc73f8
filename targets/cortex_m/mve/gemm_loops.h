/* What the loops of gemm_s8.c and gemm_s16.c are written with alike, around a `job` of their own. */
#ifndef EK_MVE_GEMM_LOOPS_H
#define EK_MVE_GEMM_LOOPS_H

#define AT(field) [field] "i"(offsetof(job, field))
#define ALL_REGISTERS                                                                                             \
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r12", "lr", "cc", "q0", "q1", "q2", "q3", \
        "q4", "q5", "q6", "q7", "memory"

/* clang-format off */
#define PRODUCTS_6(instruction)                                     \
    instruction " r0, q0, q3\n " instruction " r2, q0, q4\n "       \
    instruction " r4, q1, q3\n " instruction " r6, q1, q4\n "       \
    instruction " r8, q2, q3\n " instruction " r10, q2, q4\n "
#define PRODUCTS_4(instruction)                                     \
    instruction " r0, q0, q1\n " instruction " r2, q0, q2\n "       \
    instruction " r4, q0, q3\n " instruction " r6, q0, q4\n "
/* clang-format on */

/* On v, 4 sums of a row; q0: bias. */
#define ADD_BIAS(v)    "vadd.i32 " v ", " v ", q0\n"
#define SHIFT_RIGHT(v) "vrshl.s32 " v ", " v ", q2\n"
#define AT_LEAST(v)    "vmax.s32 " v ", " v ", q3\n"
#define AT_MOST(v)     "vmin.s32 " v ", " v ", q4\n"
#define EACH_3(line)   line("q5") line("q6") line("q7")

#endif
