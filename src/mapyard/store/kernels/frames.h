/* Single values of columns in frames, for the loops over them. */
#ifndef MAPYARD_STORE_FRAMES_H
#define MAPYARD_STORE_FRAMES_H

#include "kernels.h"

#include <string.h>

enum { BITS = 6, FRAME = 1 << BITS, LAST = FRAME - 1 };

/* Little-endian, as the files are. */
static inline uint64_t read_offset(const uint8_t *at, int64_t width) {
    uint64_t value = 0;
    switch (width) {
    case 1: return *at;
    case 2: { uint16_t narrow; memcpy(&narrow, at, 2); return narrow; }
    case 4: { uint32_t narrow; memcpy(&narrow, at, 4); return narrow; }
    case 8: memcpy(&value, at, 8); return value;
    default: return 0;
    }
}

/* Whether the offsets of a frame lie within the column. */
static inline int is_whole(const Frames *frames, int64_t place) {
    int64_t first = place >> 4, width = place & 15;
    return first >= 0 && width <= 8 && first <= frames->offset_bytes - width * FRAME;
}

static inline int64_t add(int64_t base, uint64_t offset) { return (int64_t)((uint64_t)base + offset); }

/* One value; the index is in the column. Returns whether the frame is whole. */
static inline int read_value(const Frames *frames, int64_t index, int64_t *value) {
    int64_t place = frames->places[index >> BITS], width = place & 15;
    if (!is_whole(frames, place)) return 0;
    *value = add(frames->bases[index >> BITS],
                 read_offset(frames->offsets + (place >> 4) + (index & LAST) * width, width));
    return 1;
}

/* The first place in [start, stop), a range of the column that ascends, whose value is not below one.
   Returns whether the frames looked at are whole. */
static inline int find_value(
    const Frames *frames, int64_t value, int64_t start, int64_t stop, int64_t *found) {
    /* Frames that lie in the range whole have their smallest value in front. */
    int64_t first = (start + LAST) >> BITS, last = stop >> BITS, low = start, high = stop;
    if (first < last) {
        int64_t below = first, above = last; /* the first frame whose base is above the value */
        while (below < above) {
            int64_t middle = (below + above) >> 1;
            if (frames->bases[middle] <= value) below = middle + 1;
            else above = middle;
        }
        if (below > first && (below - 1) << BITS > low) low = (below - 1) << BITS;
        if (below < last) high = below << BITS;
    }
    while (low < high) {
        int64_t middle = (low + high) >> 1, there;
        if (!read_value(frames, middle, &there)) return 0;
        if (there < value) low = middle + 1;
        else high = middle;
    }
    *found = low;
    return 1;
}

#endif
