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

void ek_share_heap(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}
