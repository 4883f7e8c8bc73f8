#define ELEMENT int8_t
#define DTYPE   EK_DTYPE_INT8
#define EK_BODY divide_s8
#include "divide.h"

const ek_op ek_op_binary_s8 = { .inputs_min = 3,
                                .inputs_max = 3,
                                .outputs = 1,
                                .in_place = EK_INPUT_0 | EK_INPUT_1,
                                .check = EK_OWN(check),
                                .run = EK_OWN(run) };
