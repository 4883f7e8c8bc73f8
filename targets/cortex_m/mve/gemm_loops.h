/* What the loops of gemm_s8.c and gemm_s16.c are written with alike, around a `job` of their own. Instructions of
 * one kind (loads, products, the others) take two cycles each when they follow one another, of two kinds one:
 * hence their order. */
#ifndef EK_MVE_GEMM_LOOPS_H
#define EK_MVE_GEMM_LOOPS_H

#define AT(field) [field] "i"(offsetof(job, field))
#define ALL_REGISTERS                                                                                             \
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r12", "lr", "cc", "q0", "q1", "q2", "q3", \
        "q4", "q5", "q6", "q7", "memory"

/* clang-format off */
/* Of a row in q0 by 4 channels, the first of which is in q1, the others at r7. */
#define PRODUCTS_4(instruction, load, second, third, fourth)        \
    instruction " r0, q0, q1\n " load " q2, [r7, #" second "]\n "   \
    instruction " r2, q0, q2\n " load " q3, [r7, #" third "]\n "    \
    instruction " r4, q0, q3\n " load " q4, [r7, #" fourth "]\n "   \
    instruction " r6, q0, q4\n "
/* clang-format on */

#endif
