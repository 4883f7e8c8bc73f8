#define ELEMENT     int8_t
#define DTYPE       EK_DTYPE_INT8
#define WEIGHT_BITS 11
#define WIDE        int32_t
#define EK_BODY     resize_s8
#include "resize_fixed.h"

const ek_op ek_op_resize_s8 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = EK_OWN(check), .run = EK_OWN(run)
};
