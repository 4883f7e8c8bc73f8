#include "gemm_s16.h"

typedef ek_fmt_fully_connected_s16 ek_params;
#define EK_OP ek_op_fully_connected_s16
#include "fully_connected.h"
