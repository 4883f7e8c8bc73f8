#include "ops/w4_s8.h"
#include "ops/w4_blocks_body.h"
