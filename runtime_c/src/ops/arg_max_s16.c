#define ELEMENT int16_t
#define DTYPE   EK_DTYPE_INT16
#include "arg_max.h"

const ek_op ek_op_arg_max_s16 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };
