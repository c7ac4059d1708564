/* Where the loops of a build have their memory from: the system, or what is given in its place. */
#include "kernels.h"

#include <stdlib.h>

/* What numpy calls PyDataMem_Handler, version 1. */
typedef struct {
    char name[127];
    uint8_t version;
    struct {
        void *context;
        void *(*malloc)(void *, size_t);
        void *(*calloc)(void *, size_t, size_t);
        void *(*realloc)(void *, void *, size_t);
        void (*free)(void *, void *, size_t);
    } allocator;
} Handler;

static const Handler *handler;

void take_memory_from(const void *given) { handler = given; }

void *take_bytes(size_t size) {
    return handler ? handler->allocator.malloc(handler->allocator.context, size) : malloc(size);
}

void *take_zeros(size_t count, size_t width) {
    return handler ? handler->allocator.calloc(handler->allocator.context, count, width)
                   : calloc(count, width);
}

void *take_more(void *start, size_t size) {
    return handler ? handler->allocator.realloc(handler->allocator.context, start, size)
                   : realloc(start, size);
}

void give_back(void *start) {
    if (handler)
        handler->allocator.free(handler->allocator.context, start, 0);
    else
        free(start);
}
