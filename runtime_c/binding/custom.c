#include "custom.h"

const ek_custom_operator *ek_host_operators[257];
