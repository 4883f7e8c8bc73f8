/* Rows of activations as the scalar operands of vrmpy want them: aligned, in whole doublewords, those
 * of eight rows side by side. */
#ifndef EK_HEXAGON_GEMM_ROWS_H
#define EK_HEXAGON_GEMM_ROWS_H

#include "vectors.h"

enum { EK_ROWS = 8, EK_CHUNK = 768 };

/* What follows a row's last element in its last doubleword is anything. */
typedef struct ek_rows {
    HVX_Vector line[EK_CHUNK * EK_ROWS / EK_LINE]; /* [k / 8][rows][8], rows 8 or 1 */
    int32_t offset[EK_WORDS];                      /* -128 times the sum of each row */
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

#endif
