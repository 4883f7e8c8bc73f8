#include "gemm_f32.h"

typedef ek_fmt_fully_connected_f32 ek_params;
#define EK_OP ek_op_fully_connected_f32
#include "fully_connected.h"
