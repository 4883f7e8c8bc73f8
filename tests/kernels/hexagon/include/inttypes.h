#ifndef CHECK_INTTYPES_H
#define CHECK_INTTYPES_H

#include <stdint.h>

#define PRIu32 __UINT32_FMTu__

#endif
