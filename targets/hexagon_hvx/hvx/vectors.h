/* Loads and stores of HVX vectors, and nothing else may touch memory with them.
 *
 * An aligned vector load ignores the low bits of its address (as QEMU does) or faults: neither may
 * happen. So: ek_line and ek_put_line say that an address is aligned, which a build with
 * EK_HVX_CHECK asserts; everything else goes through unaligned accesses, or through the aligned
 * lines around the bytes, masked. No access touches a line of which no byte is asked for.
 */
#ifndef EK_HEXAGON_VECTORS_H
#define EK_HEXAGON_VECTORS_H

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>
#include <stddef.h>
#include <stdint.h>

#define EK_INLINE static inline __attribute__((always_inline))

enum { EK_LINE = 128, EK_WORDS = 32 };

EK_INLINE HVX_Vector *ek_aligned(const void *p)
{
#ifdef EK_HVX_CHECK
    if ((uintptr_t)p % EK_LINE) __builtin_trap();
#endif
    return (HVX_Vector *)(uintptr_t)p;
}

/* The line that a byte lies in. */
EK_INLINE HVX_Vector *ek_line_of(const void *p)
{
    return (HVX_Vector *)((uintptr_t)p & ~(uintptr_t)(EK_LINE - 1));
}

EK_INLINE HVX_Vector ek_line(const void *p)
{
    return *ek_aligned(p);
}
EK_INLINE void ek_put_line(void *p, HVX_Vector v)
{
    *ek_aligned(p) = v;
}

/* 128 bytes at any address. */
EK_INLINE HVX_Vector ek_load(const void *p)
{
    return *(const HVX_UVector *)p;
}
EK_INLINE void ek_store(void *p, HVX_Vector v)
{
    *(HVX_UVector *)p = v;
}

/* The first `bytes` (1 to 128) at any address; what follows them is anything. */
EK_INLINE HVX_Vector ek_load_some(const void *p, size_t bytes)
{
    const HVX_Vector low = *ek_line_of(p), high = *ek_line_of((const char *)p + bytes - 1);
    return Q6_V_valign_VVR(high, low, (int32_t)(uintptr_t)p);
}

/* Stores the first `bytes` (1 to 128) at any address. */
EK_INLINE void ek_store_some(void *p, HVX_Vector v, size_t bytes)
{
    HVX_Vector *const line = ek_line_of(p);
    const size_t from = (uintptr_t)p % EK_LINE, to = from + bytes;
    const HVX_Vector turned = Q6_V_vlalign_VVR(v, v, (int32_t)from);
    const HVX_VectorPred before = Q6_Q_vsetq_R((int32_t)from); /* no byte for 0 */
    if (to > EK_LINE) {
        Q6_vmem_QnRIV(before, line, turned);
        Q6_vmem_QRIV(Q6_Q_vsetq_R((int32_t)(to - EK_LINE)), line + 1, turned);
    } else {
        Q6_vmem_QRIV(Q6_Q_and_QQn(Q6_Q_vsetq2_R((int32_t)to), before), line, turned);
    }
}

/* The same for a line of which `left` bytes, at least 1, are left. */
EK_INLINE HVX_Vector ek_load_at(const void *p, size_t left)
{
    return left >= EK_LINE ? ek_load(p) : ek_load_some(p, left);
}
EK_INLINE void ek_store_at(void *p, HVX_Vector v, size_t left)
{
    if (left >= EK_LINE)
        ek_store(p, v);
    else
        ek_store_some(p, v, left);
}

EK_INLINE HVX_Vector ek_splat_byte(int32_t value)
{
    return Q6_V_vsplat_R((int32_t)((uint32_t)(uint8_t)value * 0x01010101u));
}
EK_INLINE HVX_Vector ek_splat_half(int32_t value)
{
    return Q6_V_vsplat_R((int32_t)((uint32_t)(uint16_t)value * 0x00010001u));
}

/* v where the byte's number is below `bytes` (0 to 128), 0 elsewhere. */
EK_INLINE HVX_Vector ek_first_bytes(HVX_Vector v, size_t bytes)
{
    return bytes ? Q6_V_vand_QV(Q6_Q_vsetq2_R((int32_t)bytes), v) : Q6_V_vzero();
}

/* Where memory that is aligned to 16 has its first whole line. */
EK_INLINE const char *ek_first_line(const void *packed)
{
    return (const char *)(((uintptr_t)packed + EK_LINE - 1) & ~(uintptr_t)(EK_LINE - 1));
}

#endif
