/* The interface between the runtime and a folder of targets/, which provides one or more kernel tables. */
#ifndef EDGEKIT_TARGET_H
#define EDGEKIT_TARGET_H

#include <stdbool.h>

#include "edgekit/kernels.h"
#include "edgekit/slots.h"

/* A table is registered by edgekit_kernels(NAME ...) in the target's kernels.cmake, and defined by the target as
 * `const ek_target ek_target_NAME`. Register the best table last. */
typedef struct ek_target {
    const ek_kernels *kernels; /* every slot must be set: start from EK_REFERENCE_KERNELS */
    bool (*supported)(void);   /* whether the CPU supports it; no side effects */
} ek_target;

#endif
