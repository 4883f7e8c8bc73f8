#define ELEMENT int8_t
#define DTYPE   EK_DTYPE_INT8
#include "min_max.h"

const ek_op ek_op_min_max_s8 = {
    .inputs_min = 2, .inputs_max = 2, .outputs = 1, .in_place = EK_INPUT_0 | EK_INPUT_1, .check = check, .run = run
};
