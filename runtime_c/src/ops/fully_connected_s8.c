#include "gemm_s8.h"

typedef ek_fmt_fully_connected_s8 ek_params;
#define EK_OP ek_op_fully_connected_s8
#include "fully_connected.h"
