/* Loops over flat arrays for routing. Plain C without Python: `__init__.py` calls these with the
   addresses of arrays, outside of the interpreter lock. Nothing here keeps state. */
#ifndef MAPYARD_KERNELS_H
#define MAPYARD_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Rises when a function's arguments or a struct change: another library is not loaded. */
enum { KERNELS_VERSION = 1 };

EXPORT int32_t kernels_version(void);

#endif
