#define ELEMENT int8_t
#define DTYPE   EK_DTYPE_INT8
#include "arg_max.h"

const ek_op ek_op_arg_max_s8 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };
