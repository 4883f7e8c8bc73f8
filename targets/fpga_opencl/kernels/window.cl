/* Words of global memory in four nested strides. A word may reach past its row: the bytes there
 * meet zero weights, or lanes that are not written. */
__kernel EK_TASK void ek_read(EK_OUT(ek_word, ek_words) __global const char *restrict arena, uint at, uint tile_first,
                              uint tile_end, uint tile_step, uint images, uint image_step, uint rows, uint row_step,
                              uint parts, uint part_step)
{
    uint sent = 0;
    for (uint tile = tile_first; tile < tile_end; tile++)
        for (uint image = 0; image < images; image++)
            for (uint row = 0; row < rows; row++)
                for (uint part = 0; part < parts; part++) {
                    const uint from = at + tile * tile_step + image * image_step + row * row_step + part * part_step;
                    ek_word x;
#pragma unroll
                    for (int b = 0; b < EK_WORD; b++) x.d[b] = arena[from + b];
                    EK_SEND(ek_words, sent, x);
                    sent++;
                }
}

/* Lines of the input are kept on chip, in a ring of `slots`; row r is in slot (r - top) % slots.
 * While the taps of one output row leave, the rows that the next one needs come in. Taps outside
 * the image read as `fill`. Per tap and part, EK_WORD bytes from any position: the ring has a bank
 * per byte, each bank gives one byte, and a rotation puts them in order. */
__kernel EK_TASK void ek_window(EK_IN(ek_word, ek_words) EK_OUT(ek_word, ek_taps) uint pass, uint tile_first,
                                uint tile_end, uint group_tiles, int group_step, uint images, int in_h, int row_first,
                                int row_end, int top, uint out_rows, int stride_h, int dilation_h, uint kernel_h,
                                int line_bytes, int line_words, int slots, uint columns, int column_start,
                                int column_step, uint segments, int segment_step, uint parts, int fill)
{
    char lines[EK_LINE_WORDS][EK_WORD];
    uint received = 0, sent = 0;
    for (uint i = 0; i < pass; i++) EK_SEND(ek_taps, i, EK_RECEIVE(ek_words, i));
    if (pass) return;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        const int start = column_start + (int)(tile / group_tiles) * group_step;
        for (uint image = 0; image < images; image++) {
            int loaded = row_first, load_slot = (row_first - top) % slots, load_word = 0;
            int row_top = top, top_slot = 0;
            for (uint phase = 0; phase <= out_rows; phase++) {
                int need = top + (int)phase * stride_h + (int)(kernel_h - 1) * dilation_h + 1;
                need = phase == out_rows || need > row_end ? row_end : need;
                const uint loads = need > loaded ? (uint)((need - loaded) * line_words) : 0;
                const uint emits = phase ? columns * kernel_h * segments * parts : 0;
                uint ky = 0, segment = 0, part = 0;
                int column = start, slot = top_slot, row = row_top;
#pragma ivdep
                for (uint i = 0; i < loads || i < emits; i++) {
                    if (i < emits) {
                        const int from = column + (int)segment * segment_step + (int)part * EK_VEC;
                        const bool inside = row >= 0 && row < in_h;
                        char bank[EK_WORD];
                        ek_word x;
#pragma unroll
                        for (int b = 0; b < EK_WORD; b++) {
                            const int at = from + ((b - from) & (EK_WORD - 1));
                            const bool there = inside && at >= 0 && at < line_bytes;
                            bank[b] = there ? lines[slot * line_words + at / EK_WORD][b] : (char)fill;
                        }
#pragma unroll
                        for (int b = 0; b < EK_WORD; b++) x.d[b] = bank[(from + b) & (EK_WORD - 1)];
                        EK_SEND(ek_taps, sent, x);
                        sent++;
                        if (++part == parts) {
                            part = 0;
                            if (++segment == segments) {
                                segment = 0;
                                row += dilation_h;
                                slot += dilation_h;
                                if (slot >= slots) slot -= slots;
                                if (++ky == kernel_h) {
                                    ky = 0;
                                    row = row_top;
                                    slot = top_slot;
                                    column += column_step;
                                }
                            }
                        }
                    }
                    if (i < loads) {
                        const ek_word x = EK_RECEIVE(ek_words, received);
                        received++;
#pragma unroll
                        for (int b = 0; b < EK_WORD; b++) lines[load_slot * line_words + load_word][b] = x.d[b];
                        if (++load_word == line_words) {
                            load_word = 0;
                            if (++load_slot == slots) load_slot = 0;
                        }
                    }
                }
                if (need > loaded) loaded = need;
                if (phase) {
                    row_top += stride_h;
                    top_slot += stride_h;
                    if (top_slot >= slots) top_slot -= slots;
                }
            }
        }
    }
}
