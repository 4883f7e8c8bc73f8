/* What compilers call for the arithmetic that ARMv6-M has no instruction for, by the names and registers of
 * Arm's run-time ABI (IHI 0043). Weak: a library's own, where it is linked as well, takes their place.
 * Nobody calls them from C, hence no parameters. */

#define EK_RUNTIME __attribute__((naked, weak, used)) void

void __aeabi_lmul(void);
void __aeabi_llsl(void);
void __aeabi_lasr(void);
void __aeabi_uidivmod(void);

/* r1:r0 = r1:r0 * r3:r2, from products of halves. */
EK_RUNTIME __aeabi_lmul(void)
{
    __asm__ volatile(".syntax unified\n"
                     "push {r4, r5, lr}\n"
                     "muls r1, r2, r1\n"
                     "muls r3, r0, r3\n"
                     "adds r1, r3\n"
                     "uxth r3, r0\n"
                     "uxth r4, r2\n"
                     "lsrs r0, r0, #16\n"
                     "lsrs r2, r2, #16\n"
                     "movs r5, r0\n"
                     "muls r5, r2, r5\n"
                     "adds r1, r5\n"
                     "muls r0, r4, r0\n"
                     "muls r2, r3, r2\n"
                     "muls r4, r3, r4\n"
                     "movs r3, #0\n"
                     "adds r0, r2\n"
                     "adcs r3, r3\n"
                     "lsls r3, r3, #16\n"
                     "adds r1, r3\n"
                     "lsrs r3, r0, #16\n"
                     "lsls r0, r0, #16\n"
                     "adds r0, r4\n"
                     "adcs r1, r3\n"
                     "pop {r4, r5, pc}\n");
}

/* r1:r0 <<= r2, of 0..63. A shift of a register by 32..255 leaves nothing. */
EK_RUNTIME __aeabi_llsl(void)
{
    __asm__ volatile(".syntax unified\n"
                     "movs r3, r0\n"
                     "lsls r0, r2\n"
                     "lsls r1, r2\n"
                     "subs r2, #32\n"
                     "bpl 1f\n"
                     "negs r2, r2\n"
                     "lsrs r3, r2\n"
                     "orrs r1, r3\n"
                     "bx lr\n"
                     "1:\n"
                     "lsls r3, r2\n"
                     "movs r1, r3\n"
                     "bx lr\n");
}

/* r1:r0 >>= r2, of 0..63, with the sign. */
EK_RUNTIME __aeabi_lasr(void)
{
    __asm__ volatile(".syntax unified\n"
                     "movs r3, r1\n"
                     "lsrs r0, r2\n"
                     "asrs r1, r2\n"
                     "subs r2, #32\n"
                     "bpl 1f\n"
                     "negs r2, r2\n"
                     "lsls r3, r2\n"
                     "orrs r0, r3\n"
                     "bx lr\n"
                     "1:\n"
                     "asrs r3, r2\n"
                     "movs r0, r3\n"
                     "bx lr\n");
}

/* The next bit of the quotient in r2: whether the rest in r0 has r1 << n, which is then taken away. */
#define BIT(n) COMPARED("lsrs r3, r0, #" n, "lsls r3, r1, #" n)
#define COMPARED(shifted, back)  \
    shifted "\n"                 \
            "cmp r3, r1\n"       \
            "bcc 1f\n" back "\n" \
            "subs r0, r3\n"      \
            "1:\n"               \
            "adcs r2, r2\n"

#define ENTRY(name)               \
    ".weak " name "\n"            \
    ".type " name ", %function\n" \
    ".thumb_func\n" name ":\n"

/* r0, r1 = r0 / r1, r0 % r1; by zero: zero and r0. Signed: towards zero, the rest has the sign of r0.
 * Eight bits at a time: r12 is the divisor, r1 the divisor shifted by as many bytes as leave r0 < r1 << 8. */
EK_RUNTIME __aeabi_uidivmod(void)
{
    __asm__ volatile(".syntax unified\n" ENTRY("__aeabi_uidiv"));
    __asm__ volatile("2:\n"
                     "movs r2, #0\n"
                     "mov r12, r1\n"
                     "3:\n"
                     "lsrs r3, r0, #4\n"
                     "cmp r3, r1\n"
                     "bcc 6f\n"
                     "lsrs r3, r0, #8\n"
                     "cmp r3, r1\n"
                     "bcc 5f\n"
                     "lsls r1, r1, #8\n"
                     "bne 3b\n"
                     "b 7f\n" /* by zero */
                     "4:\n"
                     "lsrs r1, r1, #8\n");
    __asm__ volatile("5:\n" BIT("7") BIT("6") BIT("5") BIT("4"));
    __asm__ volatile("6:\n" BIT("3") BIT("2") BIT("1") COMPARED("movs r3, r0", "movs r3, r1"));
    __asm__ volatile("cmp r1, r12\n"
                     "bne 4b\n"
                     "7:\n"
                     "movs r1, r0\n"
                     "movs r0, r2\n"
                     "bx lr\n");
    __asm__ volatile(ENTRY("__aeabi_idiv") ENTRY("__aeabi_idivmod"));
    __asm__ volatile("movs r2, r0\n"
                     "orrs r2, r1\n"
                     "bpl 2b\n"
                     "push {r4, r5, lr}\n"
                     "asrs r4, r0, #31\n"
                     "asrs r5, r1, #31\n"
                     "eors r0, r4\n"
                     "subs r0, r4\n"
                     "eors r1, r5\n"
                     "subs r1, r5\n"
                     "bl 2b\n"
                     "eors r1, r4\n"
                     "subs r1, r4\n"
                     "eors r4, r5\n"
                     "eors r0, r4\n"
                     "subs r0, r4\n"
                     "pop {r4, r5, pc}\n");
}
