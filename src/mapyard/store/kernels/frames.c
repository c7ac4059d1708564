#include "kernels.h"

#include <string.h>

enum { BITS = 6, FRAME = 1 << BITS, LAST = FRAME - 1 };

int32_t kernels_version(void) { return KERNELS_VERSION; }

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

int64_t take_frames(const Frames *frames, const int64_t *indexes, int64_t count, int64_t *out) {
    for (int64_t i = 0; i < count; i++)
        if (indexes[i] < 0 || indexes[i] >= frames->length || !read_value(frames, indexes[i], out + i))
            return i;
    return -1;
}

int64_t take_frames_32(const Frames *frames, const uint32_t *indexes, int64_t count, int64_t *out) {
    for (int64_t i = 0; i < count; i++)
        if (indexes[i] >= frames->length || !read_value(frames, indexes[i], out + i)) return i;
    return -1;
}

#define READ_WIDE(kind)                                                                       \
    for (int64_t i = 0; i < count; i++) {                                                     \
        kind narrow;                                                                          \
        memcpy(&narrow, at + i * (int64_t)sizeof narrow, sizeof narrow);                      \
        out[i] = add(base, narrow);                                                           \
    }

int64_t read_frames(const Frames *frames, int64_t start, int64_t stop, int64_t *out) {
    if (start < 0 || stop > frames->length) return 0;
    for (int64_t begin = start; begin < stop;) {
        int64_t frame = begin >> BITS, end = (frame + 1) << BITS;
        if (end > stop) end = stop;
        int64_t place = frames->places[frame], width = place & 15;
        int64_t base = frames->bases[frame], count = end - begin;
        if (!is_whole(frames, place)) return begin - start;
        const uint8_t *at = frames->offsets + (place >> 4) + (begin & LAST) * width;
        switch (width) {
        case 1: READ_WIDE(uint8_t) break;
        case 2: READ_WIDE(uint16_t) break;
        case 4: READ_WIDE(uint32_t) break;
        case 8: READ_WIDE(uint64_t) break;
        default:
            for (int64_t i = 0; i < count; i++) out[i] = base;
        }
        out += count;
        begin = end;
    }
    return -1;
}

int64_t locate_frames(
    const Frames *frames, const int64_t *values, int64_t count, int64_t start, int64_t stop, int64_t *out) {
    if (start < 0 || stop > frames->length) return 0;
    /* Frames that lie in the range whole have their smallest value in front. */
    int64_t first = (start + LAST) >> BITS, last = stop >> BITS;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = values[i], low = start, high = stop;
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
        int64_t found = 0;
        while (low < high) {
            int64_t middle = (low + high) >> 1;
            if (!read_value(frames, middle, &found)) return i;
            if (found < value) low = middle + 1;
            else high = middle;
        }
        out[i] = -1;
        if (low < stop) {
            if (!read_value(frames, low, &found)) return i;
            if (found == value) out[i] = low;
        }
    }
    return -1;
}

int64_t measure_frame_runs(
    const Frames *offsets, const int64_t *indexes, int64_t count, int64_t *begins, int64_t *ends) {
    ends[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t index = indexes[i], end;
        if (index < 0 || index + 1 >= offsets->length) return i;
        if (!read_value(offsets, index, begins + i) || !read_value(offsets, index + 1, &end)) return i;
        if (begins[i] < 0 || end < begins[i]) return i;
        ends[i + 1] = ends[i] + (end - begins[i]);
    }
    return -1;
}

int64_t gather_frame_runs(
    const Frames *values, const int64_t *begins, const int64_t *ends, int64_t count, uint32_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t length = ends[i + 1] - ends[i], value;
        if (length > values->length - begins[i]) return i;
        for (int64_t j = 0; j < length; j++) {
            if (!read_value(values, begins[i] + j, &value)) return i;
            *out++ = (uint32_t)value;
        }
    }
    return -1;
}
