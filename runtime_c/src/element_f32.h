/* The names that bodies shared by element types are written in: float. */
#ifndef EK_ELEMENT_F32_H
#define EK_ELEMENT_F32_H

#include "ops/heavy_checks.h"

typedef float ek_element;
typedef float ek_weight;

#define EK_ELEMENT_DTYPE EK_DTYPE_FLOAT32

/* Of an operator's parameters `p`: the byte that padding is made of; whether bias[biases] and what
 * else belongs to n channels are there, as a status; that table, which is never tight; the fields that it becomes in
 * what kernels get. */
#define EK_FILL(p)                        0
#define EK_CHECK_TAIL(node, p, biases, n) ((void)(biases), ek_check_float_tail(node, &(p)->requant, n))
#define EK_TABLE(p, biases, n)            EK_TABLE_S8(&(p)->requant, biases, n)
#define EK_TAIL(node, p, biases, n) \
    .bias = ek_bias_f32(node, (p)->requant.table), .min = ek_f32((p)->requant.qmin), .max = ek_f32((p)->requant.qmax)

#endif
