#include "kernels.h"

#include <string.h>

static inline int64_t number_at(const void *numbers, int64_t width, int64_t index) {
    switch (width) {
    case 1: return ((const uint8_t *)numbers)[index];
    case 2: return ((const uint16_t *)numbers)[index];
    case 4: return ((const uint32_t *)numbers)[index];
    default: return ((const int64_t *)numbers)[index];
    }
}

/* Where the text of a run begins, and its length: -1 where it is damaged. */
static inline int64_t find_text(const Lines *lines, int64_t run, int64_t *length) {
    int64_t first = lines->run_starts[run];
    int64_t count = number_at(lines->run_lengths, lines->length_width, run);
    if (count < 0 || first > lines->line_count - count) return -1;
    int64_t begin = number_at(lines->text_offsets, lines->text_width, first);
    int64_t end = number_at(lines->text_offsets, lines->text_width, first + count);
    if (begin < 0 || end < begin || end > lines->text_bytes) return -1;
    *length = end - begin;
    return begin;
}

int64_t measure_lines(const Lines *lines, const int64_t *relations, int64_t count, int64_t *ends) {
    ends[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t relation = relations[i], size = 0;
        if (relation < 0 || relation >= lines->relation_count) return i;
        int64_t run = number_at(lines->run_offsets, lines->offset_width, relation);
        int64_t stop = number_at(lines->run_offsets, lines->offset_width, relation + 1);
        if (run < 0 || stop > lines->run_count) return i;
        for (; run < stop; run++) {
            int64_t length = 0;
            if (find_text(lines, run, &length) < 0) return i;
            size += length;
        }
        if (!size) return i;
        ends[i + 1] = ends[i] + size - 1;
    }
    return -1;
}

void gather_lines(
    const Lines *lines, const int64_t *relations, int64_t count, const int64_t *ends, uint8_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t run = number_at(lines->run_offsets, lines->offset_width, relations[i]);
        int64_t stop = number_at(lines->run_offsets, lines->offset_width, relations[i] + 1);
        for (int64_t at = ends[i]; run < stop; run++) {
            int64_t length = 0, begin = find_text(lines, run, &length);
            if (length > ends[i + 1] - at) length = ends[i + 1] - at; /* the last comma */
            memcpy(out + at, lines->texts + begin, (size_t)length);
            at += length;
        }
    }
}
