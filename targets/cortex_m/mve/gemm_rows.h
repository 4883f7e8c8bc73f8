/* What gemm_s8.c and gemm_s16.c do alike around their loops: ELEMENT is what they multiply, SHIFT the type of
 * their shifts; they define `job` and, before this, rows_3 and row_1. */

enum { LEAST_STEP = 8 }; /* bytes from row to row that rows_3 demands */

/* All rows, at least one, by some blocks; j->a and j->out move past the rows. */
static void all_rows(job *j, size_t rows, size_t blocks)
{
    const int32_t *const multiplier = j->multiplier;
    const SHIFT *const shift = j->shift;
    const bool threes = j->chunks && j->a_step >= LEAST_STEP;
    do {
        size_t now = 1;
        j->out_end = j->out + blocks * EK_MVE_COLUMNS;
        if (threes && rows >= 3) {
            now = 3;
            rows_3(j);
        } else {
            row_1(j);
        }
        j->multiplier = multiplier;
        j->shift = shift;
        j->a += now * (j->a_step / sizeof *j->a);
        j->out += now * (j->out_step / sizeof *j->out);
        rows -= now;
    } while (rows);
}

/* The last n < 4 channels: constants and results go through memory of a whole block. */
static void last_columns(job *j, size_t rows, size_t n)
{
    int32_t multiplier[EK_MVE_COLUMNS] = { 0 };
    SHIFT shift[EK_MVE_COLUMNS] = { 0 };
    ELEMENT part[3][EK_MVE_COLUMNS], *out = j->out;
    const size_t out_step = j->out_step / sizeof *out;
    for (size_t i = 0; i < n; i++) {
        multiplier[i] = j->multiplier[i];
        shift[i] = j->shift[i];
    }
    j->out_step = sizeof part[0];
    for (size_t now; rows; rows -= now) {
        now = rows < 3 ? rows : 3;
        j->out = part[0];
        j->multiplier = multiplier;
        j->shift = shift;
        all_rows(j, now, 1);
        for (size_t r = 0; r < now; r++, out += out_step)
            for (size_t i = 0; i < n; i++) out[i] = part[r][i];
    }
}
