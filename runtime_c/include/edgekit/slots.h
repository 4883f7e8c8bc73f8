/* EK_SLOT(slot, function): a kernel or a packing in a table, or NULL in a build whose operators never call it. The
 * build finds that out from the users in kernels.def and defines EK_OMIT_<slot>, so that what no operator reaches
 * stays out of flash. */
#ifndef EDGEKIT_SLOTS_H
#define EDGEKIT_SLOTS_H

#include <stddef.h>

/* EK_OMIT_<slot> is 1 or a name; behind EK_OMITTED_, only the 1 puts a NULL before the function. */
#define EK_OMITTED_1                      ~, NULL
#define EK_SLOT(slot, function)           EK_SLOT_OF(EK_OMIT_##slot, function)
#define EK_SLOT_OF(omitted, function)     EK_SLOT_JOIN(omitted, function)
#define EK_SLOT_JOIN(omitted, function)   EK_SLOT_SECOND(EK_OMITTED_##omitted, function, ~)
#define EK_SLOT_SECOND(...)               EK_SLOT_SECOND_OF(__VA_ARGS__)
#define EK_SLOT_SECOND_OF(a, second, ...) second

#endif
