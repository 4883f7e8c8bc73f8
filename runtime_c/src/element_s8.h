/* The names that bodies shared by element types are written in: int8. */
#ifndef EK_ELEMENT_S8_H
#define EK_ELEMENT_S8_H

#include "ops/heavy_checks.h"

typedef int8_t ek_element;
typedef int8_t ek_weight;

#define EK_ELEMENT_DTYPE EK_DTYPE_INT8

/* Of an operator's parameters `p`: the byte that padding is made of; whether bias[biases] and what
 * else belongs to n channels are there, as a status; that table; the fields that it becomes in what kernels get. */
#define EK_FILL(p)                        ((uint8_t)(p)->requant.input_zero)
#define EK_CHECK_TAIL(node, p, biases, n) ek_check_requant(node, &(p)->requant, biases, n)
#define EK_TABLE(p, biases, n)            EK_TABLE_S8(&(p)->requant, biases, n)
#define EK_TAIL(node, p, biases, n)       .requant = ek_requant_of(node, &(p)->requant, biases, n)

#endif
