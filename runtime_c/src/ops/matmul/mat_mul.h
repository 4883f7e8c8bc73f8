/* The sizes of a batch of matrix products of two tensors. */
#ifndef EK_MAT_MUL_H
#define EK_MAT_MUL_H

#include "op.h"

typedef struct ek_mat_mul {
    uint32_t batch, rows, k, n, a_step, b_step;
} ek_mat_mul;

static inline bool ek_check_step(const ek_node *node, uint32_t i, uint8_t dtype, uint32_t batch, uint64_t matrix,
                                 uint32_t step)
{
    return (step == 0 || step == matrix) && ek_check_in(node, i, dtype, step ? ek_mul64(batch, matrix) : matrix);
}

static inline bool ek_check_mat_mul(const ek_node *node, const ek_mat_mul *m, uint8_t dtype)
{
    return m->batch && m->rows && m->k && m->n &&
           ek_check_step(node, 0, dtype, m->batch, (uint64_t)m->rows * m->k, m->a_step) &&
           ek_check_step(node, 1, dtype, m->batch, (uint64_t)m->k * m->n, m->b_step) &&
           ek_check_out(node, 0, dtype, ek_mul64((uint64_t)m->rows * m->n, m->batch));
}

#endif
