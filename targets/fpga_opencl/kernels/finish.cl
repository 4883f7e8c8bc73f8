__kernel EK_TASK void ek_requant(EK_IN(ek_sum, ek_sums) EK_IN(ek_quant, ek_quants) EK_OUT(ek_pixel, ek_pixels)
                                     uint mode,
                                 uint tile_first, uint tile_end, uint count, int zero, int shift, int qmin, int qmax)
{
    uint passed = 0;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        ek_quant p;
        if (mode == EK_REQUANT_SCALE) p = EK_RECEIVE(ek_quants, tile);
        for (uint i = 0; i < count; i++) {
            const ek_sum acc = EK_RECEIVE(ek_sums, passed);
            ek_pixel q;
#pragma unroll
            for (int l = 0; l < EK_LANES; l++) {
                int v = acc.v[l];
                if (mode == EK_REQUANT_SCALE) {
                    v = (int)((uint)v + (uint)p.bias[l]);
                    v = (int)((uint)ek_scale(v, p.multiplier[l], p.shift[l]) + (uint)zero);
                } else if (mode == EK_REQUANT_SHIFT) {
                    v >>= shift;
                }
                q.v[l] = ek_clamp(v, qmin, qmax);
            }
            EK_SEND(ek_pixels, passed, q);
            passed++;
        }
    }
}

/* Pooling windows over lines kept on chip, in a ring as in ek_window. `means`: (multiplier, shift)
 * for windows of i + 1 elements, or one pair for all. */
__kernel EK_TASK void ek_pool(EK_IN(ek_pixel, ek_pixels) EK_OUT(ek_pixel, ek_pooled) __global const int *restrict means,
                              uint mode, uint pass, uint maps, int in_h, int in_w, uint out_h, uint out_w,
                              uint kernel_h, uint kernel_w, int stride_h, int stride_w, int dilation_h, int dilation_w,
                              int pad_top, int pad_left, int slots, uint counts, int in_zero, int out_zero, int qmin,
                              int qmax)
{
    ek_pixel lines[EK_POOL_WORDS];
    uint received = 0, sent = 0;
    for (uint i = 0; i < pass; i++) EK_SEND(ek_pooled, i, EK_RECEIVE(ek_pixels, i));
    if (mode == EK_POOL_PASS) return;
    for (uint map = 0; map < maps; map++) {
        int loaded = 0, load_slot = pad_top % slots, top_slot = 0, top = -pad_top;
        for (uint oy = 0; oy < out_h; oy++) {
            int need = top + (int)(kernel_h - 1) * dilation_h + 1;
            need = oy == out_h - 1 || need > in_h ? in_h : need;
            for (; loaded < need; loaded++) {
                /* Rows below the last window still have to be taken from the link. */
                const bool wanted = loaded < top + (int)(kernel_h - 1) * dilation_h + 1;
                for (int x = 0; x < in_w; x++) {
                    const ek_pixel p = EK_RECEIVE(ek_pixels, received);
                    received++;
                    if (wanted) lines[load_slot * in_w + x] = p;
                }
                if (++load_slot == slots) load_slot = 0;
            }
            for (uint ox = 0; ox < out_w; ox++) {
                const int left = (int)ox * stride_w - pad_left;
                ek_sum acc;
                ek_pixel q;
                int count = 0, slot = top_slot, y = top;
#pragma unroll
                for (int l = 0; l < EK_LANES; l++) acc.v[l] = mode == EK_POOL_MAX ? -128 : 0;
                for (uint ky = 0; ky < kernel_h; ky++) {
                    for (uint kx = 0; kx < kernel_w; kx++) {
                        const int x = left + (int)kx * dilation_w;
                        if (y < 0 || y >= in_h || x < 0 || x >= in_w) continue;
                        const ek_pixel p = lines[slot * in_w + x];
                        count++;
#pragma unroll
                        for (int l = 0; l < EK_LANES; l++)
                            acc.v[l] = mode == EK_POOL_MEAN ? acc.v[l] + p.v[l] : max(acc.v[l], (int)p.v[l]);
                    }
                    y += dilation_h;
                    slot += dilation_h;
                    if (slot >= slots) slot -= slots;
                }
                const int entry = counts == 1 || !count ? 0 : count - 1;
                const int multiplier = means[2 * entry], shift = means[2 * entry + 1];
#pragma unroll
                for (int l = 0; l < EK_LANES; l++) {
                    int v = acc.v[l];
                    if (mode == EK_POOL_MEAN) v = ek_scale((v - count * in_zero) * 16, multiplier, shift) + out_zero;
                    q.v[l] = ek_clamp(v, qmin, qmax);
                }
                EK_SEND(ek_pooled, sent, q);
                sent++;
            }
            top += stride_h;
            top_slot += stride_h;
            if (top_slot >= slots) top_slot -= slots;
        }
    }
}

/* Lanes beyond the group's channels, and bytes from `bytes` of an image on, are not written. */
__kernel EK_TASK void ek_write(EK_IN(ek_pixel, ek_pooled) __global char *restrict arena, uint at, uint tile_first,
                               uint tile_end, uint group_tiles, uint group_channels, uint images, uint image_step,
                               uint count, uint pixel_step, uint bytes)
{
    uint received = 0;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        const uint group = tile / group_tiles, first = (tile - group * group_tiles) * EK_LANES;
        for (uint image = 0; image < images; image++)
            for (uint i = 0; i < count; i++) {
                const ek_pixel q = EK_RECEIVE(ek_pooled, received);
                const uint to = i * pixel_step + group * group_channels + first;
                received++;
#pragma unroll
                for (int l = 0; l < EK_LANES; l++)
                    if (first + l < group_channels && to + l < bytes) arena[at + image * image_step + to + l] = q.v[l];
            }
    }
}
