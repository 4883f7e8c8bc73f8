/* What a folder under targets/ gives to the runtime: one or more kernel tables. */
#ifndef EDGEKIT_TARGET_H
#define EDGEKIT_TARGET_H

#include <stdbool.h>

#include "edgekit/kernels.h"
#include "edgekit/slots.h"

/* A table of the build is registered by edgekit_kernels(NAME ...) in the target's kernels.cmake, and
 * defined by the target as `const ek_target ek_target_NAME`. Tables are tried best last. */
typedef struct ek_target {
    const ek_kernels *kernels; /* every slot filled: start from EK_REFERENCE_KERNELS */
    bool (*supported)(void);   /* asks the CPU; no side effect */
} ek_target;

#endif
