#define ELEMENT int16_t
#define DTYPE   EK_DTYPE_INT16
#define EK_BODY divide_s16
#include "divide.h"

const ek_op ek_op_binary_s16 = { .inputs_min = 3,
                                 .inputs_max = 3,
                                 .outputs = 1,
                                 .in_place = EK_INPUT_0 | EK_INPUT_1,
                                 .check = EK_OWN(check),
                                 .run = EK_OWN(run) };
