/* An update applied on an emulated device: OLD UPDATE NEW, files of the host. RAM stands for its flash. The status is
 * the exit code, its sign changed. Where NEW is called "damaged", a bit of the second page falls after it was written.
 */
#include "edgekit/update.h"
#include "io.h"

#include <string.h>

enum { ROOM = 16384, PIECE = 61 };

static uint8_t old[ROOM], spare[ROOM];
static int damaged;

static int program_page(void *user, uint32_t offset, const uint8_t *page, uint32_t bytes)
{
    (void)user;
    memcpy(spare + offset, page, bytes);
    if (damaged && offset == EK_UPDATE_PAGE) spare[offset] ^= 1;
    return 0;
}

int main(int argc, char **argv)
{
    static ek_update update;
    uint8_t piece[PIECE];
    uint32_t made = 0;
    size_t got;
    if (argc != 4) return 99;
    damaged = !strcmp(argv[3], "damaged");
    const int old_file = io_open(argv[1], 0), in = io_open(argv[2], 0);
    const size_t old_bytes = io_read(old_file, old, sizeof old);
    const ek_update_flash flash = { .old_file = old_bytes ? old : NULL,
                                    .old_bytes = (uint32_t)old_bytes,
                                    .new_file = spare,
                                    .capacity = sizeof spare,
                                    .write = program_page };
    ek_status status = ek_update_init(&update, &flash);
    while (!status && (got = io_read(in, piece, sizeof piece)) > 0) status = ek_update_feed(&update, piece, got);
    if (!status) status = ek_update_finish(&update, &made);
    if (status) return -(int)status;
    const int out = io_open(argv[3], 1);
    const uint32_t stack = (uint32_t)io_stack_used();
    const int whole = io_write(out, spare, made) == made && io_write(out, &stack, sizeof stack) == sizeof stack;
    io_close(out);
    return whole ? 0 : 98;
}
