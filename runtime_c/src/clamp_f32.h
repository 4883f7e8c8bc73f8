/* A float within bounds; NaN stays NaN. */
#ifndef EK_CLAMP_F32_H
#define EK_CLAMP_F32_H

static inline float ek_clamp_f32(float v, float low, float high)
{
#ifdef __hexagon__ /* clang 19 makes sfmin and sfmax of the comparisons, and they lose NaN */
    if (v != v) return v;
#endif
    return v < low ? low : v > high ? high : v;
}

#endif
