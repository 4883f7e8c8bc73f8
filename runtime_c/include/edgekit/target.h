/* What a folder under targets/ gives to the runtime: one or more kernel tables. */
#ifndef EDGEKIT_TARGET_H
#define EDGEKIT_TARGET_H

#include <stdbool.h>

#include "edgekit/kernels.h"

/* A packer in a table: not there in firmware that only runs files packed beforehand. */
#if defined EK_NO_PACKERS && !defined EK_TABLES_PACK
#define EK_PACKER(function) NULL
#else
#define EK_PACKER(function) function
#endif

/* The same for one of weights that int16 is multiplied with. */
#if defined EK_NO_PACKERS && !defined EK_TABLES_PACK_S16
#define EK_PACKER_S16(function) NULL
#else
#define EK_PACKER_S16(function) function
#endif

/* A table of the build is registered by edgekit_kernels(NAME ...) in the target's kernels.cmake, and
 * defined by the target as `const ek_target ek_target_NAME`. Tables are tried best last. */
typedef struct ek_target {
    const ek_kernels *kernels; /* every slot filled: start from EK_REFERENCE_KERNELS */
    bool (*supported)(void);   /* asks the CPU; no side effect */
} ek_target;

#endif
