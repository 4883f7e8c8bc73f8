/* Rows of activations as the scalar operands of vrmpy want them: aligned, padded with zeros to whole
 * doublewords, those of ROWS rows side by side. */
#ifndef EK_HEXAGON_GEMM_ROWS_H
#define EK_HEXAGON_GEMM_ROWS_H

#include "vectors.h"

enum { EK_ROWS = 8, EK_CHUNK = 768 };

typedef struct ek_rows {
    HVX_Vector line[EK_CHUNK * EK_ROWS / EK_LINE]; /* [k / 8][rows][8], rows 8 or 1 */
    int32_t offset[EK_WORDS];                      /* -128 times the sum of each row */
} ek_rows;

/* k (up to EK_CHUNK) columns of `rows` (up to 8) rows; those that are missing are zeros. */
void ek_hvx_gather_rows(ek_rows *to, const int8_t *a, size_t a_step, size_t rows, size_t k);
/* The same of one row, without the others' places. */
void ek_hvx_gather_row(ek_rows *to, const int8_t *a, size_t k);

#endif
