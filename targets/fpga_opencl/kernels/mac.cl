#ifdef EK_CHANNELS
/* Weights and requantization of each tile; `repeat` times where the mac cannot keep them. */
__kernel EK_TASK void ek_weights(__global const ek_weight *restrict weights, __global const ek_quant *restrict quants,
                                 uint tile_first, uint tile_end, uint steps, uint repeat, uint quantized)
{
    for (uint tile = tile_first; tile < tile_end; tile++) {
        if (quantized) write_channel_intel(ek_quants, quants[tile]);
        for (uint r = 0; r < repeat; r++)
            for (uint k = 0; k < steps; k++) write_channel_intel(ek_weight_words, weights[tile * steps + k]);
    }
}
#endif

/* One step of the array: EK_LANES x EK_VEC products. */
static ek_sum ek_multiply(ek_sum acc, const char a[EK_LANES][EK_VEC], ek_weight w)
{
#pragma unroll
    for (int l = 0; l < EK_LANES; l++) {
        int p = 0;
#pragma unroll
        for (int v = 0; v < EK_VEC; v++) p += (int)a[l][v] * (int)w.w[l][v];
        acc.v[l] += p;
    }
    return acc;
}

static ek_sum ek_zero_sum(void)
{
    ek_sum zero;
#pragma unroll
    for (int l = 0; l < EK_LANES; l++) zero.v[l] = 0;
    return zero;
}

/* CONV: a word of taps serves all lanes; weights of a tile are kept while its pixels pass.
 * DEPTHWISE: a lane has its own channel. Columns of taps move through a shift register, the newest
 * in front; while those of one pixel come in, the products of the one before are made. */
__kernel EK_TASK void ek_mac(EK_IN(ek_word, ek_taps) EK_IN(ek_weight, ek_weight_words) EK_OUT(ek_sum, ek_sums)
                                 uint mode,
                             uint tile_first, uint tile_end, uint lines, uint pixels, uint steps, uint keep,
                             uint first_shifts, uint shifts, int a_multiplier, int b_multiplier, int bias)
{
    ek_weight kept[EK_WEIGHT_WORDS];
    char taps[EK_TAPS][EK_LANES], held[EK_TAPS][EK_LANES], a[EK_LANES][EK_VEC];
    uint received = 0, sent = 0;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        if (mode == EK_MAC_DEPTHWISE) {
            for (uint k = 0; k < steps; k++) kept[k] = EK_RECEIVE(ek_weight_words, tile * steps + k);
            for (uint line = 0; line < lines; line++)
                for (uint pixel = 0; pixel <= pixels; pixel++) {
                    const uint in = pixel == pixels ? 0 : pixel ? shifts : first_shifts, out = pixel ? steps : 0;
                    ek_sum acc = ek_zero_sum();
                    for (uint i = 0; i < in || i < out; i++) {
                        if (i < out) {
#pragma unroll
                            for (int l = 0; l < EK_LANES; l++)
#pragma unroll
                                for (int v = 0; v < EK_VEC; v++) a[l][v] = held[v][l];
                            acc = ek_multiply(acc, a, kept[i]);
#pragma unroll
                            for (int t = 0; t < EK_TAPS - EK_VEC; t++)
#pragma unroll
                                for (int l = 0; l < EK_LANES; l++) held[t][l] = held[t + EK_VEC][l];
                        }
                        if (i < in) {
                            const ek_word x = EK_RECEIVE(ek_taps, received);
                            received++;
#pragma unroll
                            for (int t = EK_TAPS - 1; t > 0; t--)
#pragma unroll
                                for (int l = 0; l < EK_LANES; l++) taps[t][l] = taps[t - 1][l];
#pragma unroll
                            for (int l = 0; l < EK_LANES; l++) taps[0][l] = x.d[l];
                        }
                    }
                    if (pixel) {
                        EK_SEND(ek_sums, sent, acc);
                        sent++;
                    }
#pragma unroll
                    for (int t = 0; t < EK_TAPS; t++)
#pragma unroll
                        for (int l = 0; l < EK_LANES; l++) held[t][l] = taps[t][l];
                }
        } else if (mode == EK_MAC_CONV) {
            for (uint pixel = 0; pixel < lines * pixels; pixel++) {
                ek_sum acc = ek_zero_sum();
                for (uint k = 0; k < steps; k++) {
                    const ek_word x = EK_RECEIVE(ek_taps, received);
                    ek_weight w;
                    received++;
                    if (!keep || !pixel)
                        w = EK_RECEIVE(ek_weight_words, tile * steps + k);
                    else
                        w = kept[k];
                    if (keep && !pixel) kept[k] = w;
#pragma unroll
                    for (int l = 0; l < EK_LANES; l++)
#pragma unroll
                        for (int v = 0; v < EK_VEC; v++) a[l][v] = x.d[v];
                    acc = ek_multiply(acc, a, w);
                }
                EK_SEND(ek_sums, sent, acc);
                sent++;
            }
        } else {
            for (uint pixel = 0; pixel < lines * pixels; pixel++) {
                const ek_word x = EK_RECEIVE(ek_taps, received);
                ek_sum acc;
                received++;
#pragma unroll
                for (int l = 0; l < EK_LANES; l++) acc.v[l] = x.d[l];
                if (mode == EK_MAC_ADD) {
                    const ek_word y = EK_RECEIVE(ek_taps, received);
                    received++;
#pragma unroll
                    for (int l = 0; l < EK_LANES; l++)
                        acc.v[l] = acc.v[l] * a_multiplier + y.d[l] * b_multiplier + bias;
                }
                EK_SEND(ek_sums, sent, acc);
                sent++;
            }
        }
    }
}
