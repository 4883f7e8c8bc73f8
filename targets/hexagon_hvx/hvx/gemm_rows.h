/* Rows of activations as the scalar operands of vrmpy want them: aligned, in whole doublewords, those
 * of eight rows side by side. */
#ifndef EK_HEXAGON_GEMM_ROWS_H
#define EK_HEXAGON_GEMM_ROWS_H

#include <stdbool.h>

#include "vectors.h"

enum { EK_ROWS = 8, EK_CHUNK = 768, EK_SLOT = 32, EK_SLOT_PARTS = 4 };

/* What follows a row's last element in its last doubleword is anything. */
typedef struct ek_rows {
    HVX_Vector line[EK_CHUNK * EK_ROWS / EK_LINE]; /* [k / 8][rows][8], rows 8 or 1; or slots [8][EK_SLOT] */
    int32_t offset[2 * EK_WORDS];                  /* -128 times the sum of each row; of slots, in every eighth */
} ek_rows;

/* Row r starts at a + r * step; after every `part` elements it goes on part_step after the part's start. */
typedef struct ek_source {
    const int8_t *a;
    size_t step, part, part_step;
} ek_source;

/* Columns [first, first + k) of `rows` (1 to 8) rows; k is up to EK_CHUNK. Rows that are missing are
 * anything. */
void ek_hvx_gather_rows(ek_rows *to, const ek_source *from, size_t rows, size_t first, size_t k);
/* The same of one row, without the others' places. */
void ek_hvx_gather_row(ek_rows *to, const ek_source *from, size_t first, size_t k);
/* k (up to EK_CHUNK) columns of `rows` (1 to 4) rows of int16, as rows of their upper bytes, each with that of the
 * lower bytes less 128 behind it. */
void ek_hvx_gather_rows16(ek_rows *to, const int16_t *a, size_t step, size_t rows, size_t k);

/* Short rows close to each other: those of a convolution's first layer. Each goes to a slot of its own. */
typedef struct ek_slots {
    uint32_t parts;
    HVX_Vector index[EK_SLOT_PARTS][2]; /* which byte of a part's 64 goes where */
} ek_slots;

/* Whether rows of k elements may go to slots: all parts of eight rows lie within 64 bytes. */
static inline bool ek_slots_serve(const ek_source *from, size_t k)
{
    return k <= EK_SLOT && (EK_ROWS - 1) * from->step + from->part <= 64 && k <= EK_SLOT_PARTS * from->part;
}
void ek_hvx_plan_slots(ek_slots *s, const ek_source *from, size_t k);

/* The first word of a slot is the sum of its words, times -128. */
EK_INLINE HVX_Vector ek_slot_sums(HVX_Vector s)
{
    for (int32_t turn = EK_SLOT / 2; turn >= 4; turn /= 2) s = Q6_Vw_vadd_VwVw(s, Q6_V_vror_VR(s, turn));
    return Q6_Vw_vsub_VwVw(Q6_V_vzero(), Q6_Vw_vasl_VwR(s, 7));
}

EK_INLINE void ek_hvx_gather_slots(ek_rows *to, const ek_slots *s, const ek_source *from, size_t rows)
{
    const HVX_Vector one = ek_splat_byte(1);
    HVX_Vector low = Q6_V_vzero(), high = low;
    const int8_t *a = from->a;
    for (uint32_t p = 0; p < s->parts; p++, a += from->part_step) {
        const HVX_Vector x = Q6_Vb_vshuff_Vb(ek_load_some(a, (rows - 1) * from->step + from->part));
        low = Q6_Vb_vlut32or_VbVbVbI(low, ek_line(&s->index[p][0]), x, 0);
        low = Q6_Vb_vlut32or_VbVbVbI(low, ek_line(&s->index[p][0]), x, 1);
        high = Q6_Vb_vlut32or_VbVbVbI(high, ek_line(&s->index[p][1]), x, 0);
        high = Q6_Vb_vlut32or_VbVbVbI(high, ek_line(&s->index[p][1]), x, 1);
    }
    ek_put_line(to->line, low);
    ek_put_line(to->line + 1, high);
    ek_put_line(to->offset, ek_slot_sums(Q6_Vw_vrmpy_VbVb(low, one)));
    ek_put_line(to->offset + EK_WORDS, ek_slot_sums(Q6_Vw_vrmpy_VbVb(high, one)));
}

#endif
