// simulate PIXELS STEPS TILES TAPS WEIGHTS SUMS: feed the array a word a cycle, write what comes
// out, print the cycles from the first word to the last sum.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "Vmac_array.h"
#include "verilated.h"

static std::vector<char> read_file(const char *path)
{
    std::vector<char> data;
    FILE *file = fopen(path, "rb");
    for (int c; file && (c = fgetc(file)) != EOF;) data.push_back((char)c);
    if (file) fclose(file);
    return data;
}

int main(int, char **arguments)
{
    const unsigned pixels = atoi(arguments[1]), steps = atoi(arguments[2]), tiles = atoi(arguments[3]);
    const std::vector<char> taps = read_file(arguments[4]), weights = read_file(arguments[5]);
    FILE *out = fopen(arguments[6], "wb");
    Vmac_array top;
    long cycle = 0, tap = 0, weight = 0, sums = 0;
    auto tick = [&] { top.clk = 0; top.eval(); top.clk = 1; top.eval(); };
    top.pixels = pixels;
    top.steps = steps;
    top.taps_valid = top.weights_valid = 0;
    top.reset = 1;
    tick();
    tick();
    top.reset = 0;
    const long words = (long)tiles * pixels * steps, limit = 10 * words + 1000;
    for (; sums < (long)tiles * pixels && cycle < limit; cycle++) {
        top.taps_valid = tap < words;
        top.weights_valid = weight < (long)tiles * steps;
        if (top.taps_valid) memcpy(&top.taps, &taps[tap * VEC], VEC);
        if (top.weights_valid) memcpy(&top.weights, &weights[weight * VEC * LANES], VEC * LANES);
        top.clk = 0;
        top.eval();
        const bool took_tap = top.taps_valid && top.taps_ready, took_weight = top.weights_valid && top.weights_ready;
        top.clk = 1;
        top.eval();
        tap += took_tap;
        weight += took_weight;
        if (top.sums_valid) {
            fwrite(&top.sums, 4, LANES, out);
            sums++;
        }
    }
    fclose(out);
    printf("%ld\n", cycle);
    return cycle == limit;
}
