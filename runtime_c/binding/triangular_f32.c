#define REAL     float
#define OF(name) name##_f32
#include "triangular_real.h"
