/* An aligned vector load at an address that is not: what a build with EK_HVX_CHECK must not let pass. */
#include <stdio.h>
#include <string.h>

#include "../../../targets/hexagon_hvx/hvx/vectors.h"

static int8_t lines[3 * EK_LINE] __attribute__((aligned(128)));

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 3 * EK_LINE; i++) lines[i] = (int8_t)i;
    int8_t got[EK_LINE];
    ek_store(got, ek_line(lines + argc)); /* argc is 1 */
    printf("byte %d\n", got[0]);
    return 0;
}
