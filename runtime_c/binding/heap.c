#include "toolkit.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

void ek_return_freed(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
