#define ELEMENT float
#define DTYPE   EK_DTYPE_FLOAT32
#include "arg_max.h"

const ek_op ek_op_arg_max_f32 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };
