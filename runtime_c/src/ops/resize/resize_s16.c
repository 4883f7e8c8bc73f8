#define ELEMENT     int16_t
#define DTYPE       EK_DTYPE_INT16
#define WEIGHT_BITS 15
#define WIDE        int64_t
#define EK_BODY     resize_s16
#include "resize_fixed.h"

const ek_op ek_op_resize_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = EK_OWN(check), .run = EK_OWN(run)
};
