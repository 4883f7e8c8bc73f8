#define REAL     float
#define OF(name) name##_f32
#include "products_real.h"
