#include "toolkit.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

void ek_trim_heap(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
