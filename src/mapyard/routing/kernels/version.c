#include "kernels.h"

int32_t kernels_version(void) { return KERNELS_VERSION; }
