/* Operators of the user's in the host's Python. */
#ifndef EDGEKIT_BINDING_CUSTOM_H
#define EDGEKIT_BINDING_CUSTOM_H

#include "edgekit/custom.h"

/* [cdef] */
/* Those that were registered, up to NULL. */
extern const ek_custom_operator *ek_host_operators[257];
/* [/cdef] */

#endif
