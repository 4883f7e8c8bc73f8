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
    const int most = 32 << 20; /* that glibc lets the heap hold in one piece */
    (void)mallopt(M_ARENA_MAX, 1);
    if (mallopt(M_MMAP_THRESHOLD, most)) (void)mallopt(M_TRIM_THRESHOLD, 8 * most);
#endif
}
