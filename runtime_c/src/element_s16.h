/* The names that bodies shared by element types are written in: int16 activations with int8 weights. */
#ifndef EK_ELEMENT_S16_H
#define EK_ELEMENT_S16_H

#include "ops/heavy_checks.h"

typedef int16_t ek_element;
typedef int8_t ek_weight;

#define EK_ELEMENT_DTYPE EK_DTYPE_INT16

/* Of an operator's parameters `p`: the byte that padding is made of; whether bias[biases] and what
 * else belongs to n channels are there, as a status; that table; the fields that it becomes in what kernels get. */
#define EK_FILL(p)                        0
#define EK_CHECK_TAIL(node, p, biases, n) ek_check_requant16(node, &(p)->requant, biases, n)
#define EK_TABLE(p, biases, n)            EK_TABLE_S16(&(p)->requant, biases, n)
#define EK_TAIL(node, p, biases, n)       .requant = ek_requant16_of(node, &(p)->requant, biases, n)

#endif
