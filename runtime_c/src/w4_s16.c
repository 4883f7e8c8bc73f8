#include "ops/w4_s16.h"
#include "ops/w4_blocks_body.h"
