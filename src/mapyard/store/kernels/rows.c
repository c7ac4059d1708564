#include "kernels.h"

enum { GONE = 0xFFFFFFFF };

int64_t map_rows(const Shifts *map, const uint32_t *rows, int64_t count, uint32_t *out) {
    int64_t start = 0, stop = 0, shift = INT64_MIN, gone = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = rows[i];
        if (row < start || row >= stop) {
            if (row >= map->end || !map->count) {
                out[i] = (uint32_t)GONE;
                gone++;
                continue;
            }
            int64_t low = 0, high = map->count; /* the first run that begins behind the row */
            while (low < high) {
                int64_t middle = (low + high) >> 1;
                if (map->starts[middle] <= row) low = middle + 1;
                else high = middle;
            }
            if (!low) {
                out[i] = (uint32_t)GONE;
                gone++;
                continue;
            }
            start = map->starts[low - 1];
            stop = low < map->count ? map->starts[low] : map->end;
            shift = map->shifts[low - 1];
        }
        if (shift == INT64_MIN) {
            out[i] = (uint32_t)GONE;
            gone++;
        } else
            out[i] = (uint32_t)(row + shift);
    }
    return gone;
}
