#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#define size_of_block malloc_size
#else
#include <malloc.h>
#define size_of_block malloc_usable_size
#endif

enum {
    PAGE_BYTES = 1 << 12,
    SLOTS = 1 << 12,
    KEPT_BYTES = 1 << 20,
    TRIM_BYTES = 1 << 25,
    FREED = 64,
    FREED_BYTES = 1 << 28,
    FREED_SHARE = 4
};

typedef struct {
    void *start;
    size_t size;
} Mapped;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Arrays that lie in files, in an open hash table; few at a time, as all are large. */
static Mapped mapped[SLOTS];
static int64_t mapped_count;
static char folder_name[4096];
static int64_t room_bytes, large_bytes = INT64_MAX, refused_bytes;
static int refused_error;
static _Atomic int64_t held_bytes, spilled_bytes;
/* Large arrays that were freed, the last ones: a new page of memory costs more than to use one
 * again, and array after array is made of one size. They count as held. */
static Mapped freed[FREED];
static int64_t freed_count, freed_bytes;
static int is_open;

static size_t slot_of(const void *start) {
    return ((uintptr_t)start / PAGE_BYTES * 0x9E3779B97F4A7C15u) >> 52;
}

static Mapped *find_mapped(const void *start) {
    for (size_t at = slot_of(start);; at = (at + 1) % SLOTS) {
        if (mapped[at].start == start) return &mapped[at];
        if (!mapped[at].start) return NULL;
    }
}

static void put_mapped(void *start, size_t size) {
    size_t at = slot_of(start);
    while (mapped[at].start) at = (at + 1) % SLOTS;
    mapped[at] = (Mapped){start, size};
    mapped_count++;
}

/* Take one out; those behind it move up, so that each is still found from its own slot. */
static size_t take_mapped(void *start) {
    Mapped *found = find_mapped(start);
    if (!found) return 0;
    size_t size = found->size;
    found->start = NULL;
    mapped_count--;
    for (size_t at = (size_t)(found - mapped + 1) % SLOTS; mapped[at].start; at = (at + 1) % SLOTS) {
        Mapped moved = mapped[at];
        mapped[at].start = NULL;
        mapped_count--;
        put_mapped(moved.start, moved.size);
    }
    return size;
}

static int open_unnamed(void) {
#if defined(O_TMPFILE)
    int file = open(folder_name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
#endif
    char name[sizeof folder_name + 16];
    snprintf(name, sizeof name, "%s/spill-XXXXXX", folder_name);
    int made = mkstemp(name);
    if (made >= 0) unlink(name);
    return made;
}

/* The whole size at once: a full disk would be a bus error later. */
static int reserve(int file, size_t size) {
#if defined(__APPLE__)
    fstore_t wanted = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, (off_t)size, 0};
    if (fcntl(file, F_PREALLOCATE, &wanted) == -1) return errno;
    return ftruncate(file, (off_t)size) ? errno : 0;
#else
    return posix_fallocate(file, 0, (off_t)size);
#endif
}

static void *map_new(size_t size) {
    void *start = MAP_FAILED;
    int file = open_unnamed(), error = file < 0 ? errno : reserve(file, size);
    if (!error) {
        start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (start == MAP_FAILED) error = errno;
    }
    if (file >= 0) close(file);
    if (error) {
        refused_error = error;
        refused_bytes = (int64_t)size;
        return NULL;
    }
    put_mapped(start, size);
    spilled_bytes += (int64_t)size;
    return start;
}

static int is_large(size_t size) { return (int64_t)size >= large_bytes; }

static void *hold(void *start) {
    if (start) {
        size_t size = size_of_block(start);
        if (is_large(size)) held_bytes += (int64_t)size;
    }
    return start;
}

static void let_go(int64_t at) {
    held_bytes -= (int64_t)freed[at].size;
    freed_bytes -= (int64_t)freed[at].size;
    free(freed[at].start);
    memmove(freed + at, freed + at + 1, (size_t)(--freed_count - at) * sizeof *freed);
}

static void let_all_go(void) {
    while (freed_count) let_go(freed_count - 1);
}

/* Keep a large block for the next array, in place of those that were freed first. */
static void keep_freed(void *start, size_t size) {
    int64_t most = room_bytes / FREED_SHARE < FREED_BYTES ? room_bytes / FREED_SHARE : FREED_BYTES;
    pthread_mutex_lock(&lock);
    int is_kept = is_open && (int64_t)size <= most;
    if (is_kept) {
        while (freed_count == FREED || freed_bytes + (int64_t)size > most) let_go(0);
        freed[freed_count++] = (Mapped){start, size};
        freed_bytes += (int64_t)size;
    } else {
        held_bytes -= (int64_t)size;
    }
    pthread_mutex_unlock(&lock);
    if (!is_kept) free(start);
}

/* Take the freed block that fits best, of which no more than an eighth is left over. */
static void *take_freed(size_t size) {
    void *start = NULL;
    pthread_mutex_lock(&lock);
    int64_t best = -1;
    for (int64_t at = 0; at < freed_count; at++)
        if (freed[at].size >= size && freed[at].size - size <= size / 8 &&
            (best < 0 || freed[at].size <= freed[best].size))
            best = at;
    if (best >= 0) {
        start = freed[best].start;
        freed_bytes -= (int64_t)freed[best].size;
        memmove(freed + best, freed + best + 1, (size_t)(--freed_count - best) * sizeof *freed);
    }
    pthread_mutex_unlock(&lock);
    return start;
}

static int fits(size_t size) {
    if (!is_large(size) || held_bytes + (int64_t)size <= room_bytes) return 1;
    pthread_mutex_lock(&lock);
    let_all_go();
    pthread_mutex_unlock(&lock);
    return held_bytes + (int64_t)size <= room_bytes || mapped_count >= SLOTS / 2;
}

static void *make(size_t size) {
    pthread_mutex_lock(&lock);
    void *start = map_new(size);
    pthread_mutex_unlock(&lock);
    return start;
}

static void *array_malloc(void *context, size_t size) {
    (void)context;
    void *again = is_large(size) ? take_freed(size) : NULL;
    if (again) return again;
    return fits(size) ? hold(malloc(size ? size : 1)) : make(size);
}

static void *array_calloc(void *context, size_t count, size_t width) {
    (void)context;
    size_t size;
    if (__builtin_mul_overflow(count, width, &size)) return NULL;
    return fits(size) ? hold(calloc(size ? size : 1, 1)) : make(size);
}

static void array_free(void *context, void *start, size_t size) {
    (void)context;
    (void)size;
    if (!start) return;
    /* What malloc gives begins behind a header of its own, never with a page. */
    if ((uintptr_t)start % PAGE_BYTES == 0) {
        pthread_mutex_lock(&lock);
        size_t found = take_mapped(start);
        pthread_mutex_unlock(&lock);
        if (found) {
            munmap(start, found);
            return;
        }
    }
    size_t held = size_of_block(start);
    if (is_large(held))
        keep_freed(start, held);
    else
        free(start);
}

static void *array_realloc(void *context, void *start, size_t size) {
    if (!start) return array_malloc(context, size);
    size_t before = 0;
    pthread_mutex_lock(&lock);
    Mapped *found = (uintptr_t)start % PAGE_BYTES ? NULL : find_mapped(start);
    if (found) before = found->size;
    pthread_mutex_unlock(&lock);
    size_t held = before ? 0 : size_of_block(start);
    if (!before && fits(size)) {
        void *moved = realloc(start, size ? size : 1);
        if (moved && is_large(held)) held_bytes -= (int64_t)held;
        return moved ? hold(moved) : NULL;
    }
    void *moved = array_malloc(context, size);
    if (!moved) return NULL;
    size_t whole = before ? before : held;
    memcpy(moved, start, whole < size ? whole : size);
    array_free(context, start, 0);
    return moved;
}

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

static Handler handler = {
    "mapyard_spill", 1, {NULL, array_malloc, array_calloc, array_realloc, array_free}};

void *spill_begin(const char *folder, int64_t room, int64_t large) {
    pthread_mutex_lock(&lock);
    let_all_go();
    if (large != large_bytes) held_bytes = 0; /* of arrays that were made before */
    large_bytes = large;
    snprintf(folder_name, sizeof folder_name, "%s", folder);
    room_bytes = room;
    is_open = 1;
    refused_bytes = refused_error = 0;
    spilled_bytes = 0;
#if defined(M_MMAP_THRESHOLD)
    /* Else glibc comes to keep large blocks that were freed, in pieces. */
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
#endif
    pthread_mutex_unlock(&lock);
    return &handler;
}

void spill_trim(void) {
    pthread_mutex_lock(&lock);
    let_all_go();
    pthread_mutex_unlock(&lock);
#if defined(M_MMAP_THRESHOLD)
    malloc_trim(0);
#endif
}

void spill_end(void) {
    pthread_mutex_lock(&lock);
    is_open = 0;
    pthread_mutex_unlock(&lock);
    spill_trim();
}

void spill_tell(Spilled *told) {
    pthread_mutex_lock(&lock);
    *told = (Spilled){held_bytes, spilled_bytes, refused_bytes, refused_error};
    pthread_mutex_unlock(&lock);
}
