#include "w4_s16.h"

typedef ek_fmt_fully_connected_w4_s16 ek_params;
#define EK_OP     ek_op_fully_connected_w4_s16
#define EK_ROW_W4 kernels->row_w4_s16
#include "fully_connected_w4.h"
