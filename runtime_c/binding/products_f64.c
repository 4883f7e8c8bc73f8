#define REAL     double
#define OF(name) name##_f64
#include "products_real.h"
