/* A float within bounds, `high` if they cross; NaN stays NaN. On x86-64 each comparison is one instruction. */
#ifndef EK_CLAMP_F32_H
#define EK_CLAMP_F32_H

static inline float ek_clamp_f32(float v, float low, float high)
{
#ifdef __hexagon__ /* clang 19 makes sfmin and sfmax of the comparisons, and they lose NaN */
    if (v != v) return v;
#endif
    const float raised = v < low ? low : v;
    return raised > high ? high : raised;
}

#endif
