#include "frames.h"

int32_t kernels_version(void) { return KERNELS_VERSION; }

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

#define WRITE_NARROW(kind)                                                                    \
    for (int64_t i = 0; i < FRAME; i++) {                                                     \
        kind narrow = (kind)((uint64_t)values[i] - (uint64_t)least);                          \
        memcpy(at + i * (int64_t)sizeof narrow, &narrow, sizeof narrow);                      \
    }

int64_t pack_frames(
    const int64_t *values, int64_t frame_count, int64_t written, int64_t *bases, int64_t *places,
    uint8_t *offsets) {
    uint8_t *at = offsets;
    for (int64_t frame = 0; frame < frame_count; frame++, values += FRAME) {
        int64_t least = values[0], most = values[0];
        for (int64_t i = 1; i < FRAME; i++) {
            if (values[i] < least) least = values[i];
            if (values[i] > most) most = values[i];
        }
        uint64_t largest = (uint64_t)most - (uint64_t)least;
        int64_t width = !largest ? 0 : largest <= 0xFF ? 1 : largest <= 0xFFFF ? 2 : largest <= 0xFFFFFFFF ? 4 : 8;
        bases[frame] = least;
        places[frame] = (written + (at - offsets)) << 4 | width;
        switch (width) {
        case 1: WRITE_NARROW(uint8_t) break;
        case 2: WRITE_NARROW(uint16_t) break;
        case 4: WRITE_NARROW(uint32_t) break;
        case 8: WRITE_NARROW(uint64_t) break;
        default: break;
        }
        at += width * FRAME;
    }
    return at - offsets;
}

int64_t locate_frames(
    const Frames *frames, const int64_t *values, int64_t count, int64_t start, int64_t stop, int64_t *out) {
    if (start < 0 || stop > frames->length) return 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t low, found = 0;
        if (!find_value(frames, values[i], start, stop, &low)) return i;
        out[i] = -1;
        if (low < stop) {
            if (!read_value(frames, low, &found)) return i;
            if (found == values[i]) out[i] = low;
        }
    }
    return -1;
}

int64_t seek_frames(
    const Frames *frames, const int64_t *values, int64_t count, int64_t start, int64_t stop, int64_t *out) {
    if (start < 0 || stop > frames->length) return 0;
    for (int64_t i = 0; i < count; i++)
        if (!find_value(frames, values[i], start, stop, out + i)) return i;
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
