/* Start-up and system calls of a program under qemu-hexagon (Linux user mode): the runner's world.
 * On a phone none of this is used: see docs/deploy-hexagon.md.
 *
 * A system call is trap0(#1): its number in r6, arguments from r0 on.
 */
#include <stdint.h>
#include <string.h>

#include "io.h"

int main(int argc, char **argv);
long ek_system_call(long number, long a, long b, long c, long d, long e, long f);

enum { OPENAT = 56, CLOSE = 57, READ = 63, WRITE = 64, EXIT_GROUP = 94, HERE = -100 };
enum { WRITE_CREATE_TRUNCATE = 01 | 0100 | 01000, MODE = 0644, STANDARD_ERROR = 2 };

long ek_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r6 __asm__("r6") = number, r0 __asm__("r0") = a, r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c, r3 __asm__("r3") = d, r4 __asm__("r4") = e, r5 __asm__("r5") = f;
    __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r6), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
    return r0;
}

int io_open(const char *path, int writing)
{
    return (int)ek_system_call(OPENAT, HERE, (long)path, writing ? WRITE_CREATE_TRUNCATE : 0, MODE, 0, 0);
}

/* Files come in pieces: repeat until all is there, or nothing more comes. */
static size_t transfer(long call, int handle, uintptr_t data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const long now = ek_system_call(call, handle, (long)(data + done), (long)(bytes - done), 0, 0, 0);
        if (now <= 0) break;
        done += (size_t)now;
    }
    return done;
}

size_t io_read(int handle, void *data, size_t bytes)
{
    return transfer(READ, handle, (uintptr_t)data, bytes);
}
size_t io_write(int handle, const void *data, size_t bytes)
{
    return transfer(WRITE, handle, (uintptr_t)data, bytes);
}
void io_close(int handle)
{
    ek_system_call(CLOSE, handle, 0, 0, 0, 0, 0);
}
void io_say(const char *text)
{
    size_t bytes = 0;
    while (text[bytes]) bytes++;
    io_write(STANDARD_ERROR, text, bytes);
}

/* The stack grows down into memory that starts as zeros; what lies below the deepest use still is. */
enum { PAINTED = 256 << 10, PAINT = 0x5ca1ab1e };
static uint32_t *painted;

__attribute__((noinline)) size_t io_stack_used(void)
{
    const uint32_t *p = painted;
    while (*p == (uint32_t)PAINT) p++;
    return (size_t)((const char *)painted + PAINTED - (const char *)p);
}

/* r29 points at argc, argv[0], argv[1], ... */
__attribute__((noreturn, used)) static void start(long *stack)
{
    uint32_t *const top = (uint32_t *)((uintptr_t)__builtin_frame_address(0) - 256);
    painted = (uint32_t *)((uintptr_t)top - PAINTED);
    for (volatile uint32_t *p = painted; p < top; p++) *p = (uint32_t)PAINT;
    const int code = main((int)stack[0], (char **)(stack + 1));
    for (;;) ek_system_call(EXIT_GROUP, code, 0, 0, 0, 0, 0);
}

__asm__(".text\n"
        ".globl _start\n"
        ".type _start,@function\n"
        ".p2align 4\n"
        "_start:\n"
        "{ r0 = r29 ; r30 = #0 ; r31 = #0 }\n"
        "{ r29 = and(r29, #-128) }\n"
        "{ r29 = add(r29, #-128) }\n"
        "{ call start }\n"
        ".size _start, .-_start\n");
