#define REAL     double
#define OF(name) name##_f64
#include "triangular_real.h"
