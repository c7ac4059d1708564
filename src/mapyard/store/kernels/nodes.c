#include "kernels.h"

#include <string.h>

static inline int64_t offset_of(const Runs *runs, int64_t run) {
    return runs->is_wide ? ((const int64_t *)runs->offsets)[run] : ((const uint32_t *)runs->offsets)[run];
}

/* Where a run begins, and how long it is: -1 where it is none. */
static inline int64_t begin_of(const Runs *runs, int64_t run, int64_t *length) {
    if (run < 0 || run >= runs->run_count) return -1;
    int64_t begin = offset_of(runs, run), end = offset_of(runs, run + 1);
    if (begin < 0 || end < begin || end > runs->value_count) return -1;
    *length = end - begin;
    return begin;
}

int64_t measure_runs(
    const Runs *runs, const int64_t *indexes, int64_t first, int64_t count, int64_t *ends) {
    ends[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t length = 0;
        if (begin_of(runs, indexes[i] - first, &length) < 0) return i;
        ends[i + 1] = ends[i] + length;
    }
    return -1;
}

void gather_runs(const Runs *runs, const int64_t *indexes, int64_t first, int64_t count, uint32_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t length = 0, begin = begin_of(runs, indexes[i] - first, &length);
        memcpy(out, runs->values + begin, (size_t)length * sizeof *out);
        out += length;
    }
}

int64_t seek_in_runs(
    const Runs *runs, const int64_t *numbers, const uint32_t *values, int64_t count, int64_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t length = 0, low = begin_of(runs, numbers[i], &length), high = low + length;
        if (low < 0) return i;
        while (low < high) {
            int64_t middle = (low + high) >> 1;
            if (runs->values[middle] < values[i]) low = middle + 1;
            else high = middle;
        }
        out[i] = low;
    }
    return -1;
}

/* No run has this number. */
#define NO_RUN UINT32_MAX

int64_t count_owners(const Runs *runs, int64_t value_count, int64_t *ends, uint32_t *last) {
    memset(ends, 0, (size_t)value_count * sizeof *ends);
    for (int64_t i = 0; i < value_count; i++) last[i] = NO_RUN;
    for (int64_t run = 0; run < runs->run_count; run++) {
        int64_t length = 0, begin = begin_of(runs, run, &length);
        if (begin < 0) return -1;
        for (int64_t i = begin; i < begin + length; i++) {
            uint32_t value = runs->values[i];
            if (value >= value_count || last[value] == (uint32_t)run) continue;
            last[value] = (uint32_t)run;
            ends[value]++;
        }
    }
    int64_t total = 0;
    for (int64_t i = 0; i < value_count; i++) ends[i] = total += ends[i];
    return total;
}

void list_owners(
    const Runs *runs, int64_t value_count, int64_t first, int64_t *places, uint32_t *last, uint32_t *owners) {
    for (int64_t i = 0; i < value_count; i++) last[i] = NO_RUN;
    /* The last run first, as each number's places are filled from their end. */
    for (int64_t run = runs->run_count - 1; run >= 0; run--) {
        int64_t length = 0, begin = begin_of(runs, run, &length);
        for (int64_t i = begin; i < begin + length; i++) {
            uint32_t value = runs->values[i];
            if (value >= value_count || last[value] == (uint32_t)run) continue;
            last[value] = (uint32_t)run;
            owners[--places[value]] = (uint32_t)(first + run);
        }
    }
}

int64_t find_nodes(
    const Map *map, const uint32_t *rows, int64_t count, const int64_t *box, uint32_t *out, int64_t room) {
    const int64_t x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t way = (int64_t)rows[i] - map->node_count;
        if (way >= map->ways.run_count) continue; /* a relation */
        if (way < 0) {
            if (found < room) out[found] = rows[i];
            found++;
            continue;
        }
        int64_t length = 0, begin = begin_of(&map->ways, way, &length);
        if (begin < 0) return -1;
        const int32_t *own = map->boxes + 4 * way;
        int is_inside = own[0] >= x0 && own[1] >= y0 && own[2] <= x1 && own[3] <= y1;
        for (int64_t j = begin; j < begin + length; j++) {
            uint32_t node = map->ways.values[j];
            if (node >= map->node_count) continue;
            if (!is_inside) {
                int32_t x = map->lon[node], y = map->lat[node];
                if (x < x0 || x > x1 || y < y0 || y > y1) continue;
            }
            if (found < room) out[found] = node;
            found++;
        }
    }
    return found;
}

int64_t drop_repeats(uint32_t *values, int64_t count) {
    if (!count) return 0;
    int64_t kept = 1;
    uint32_t last = values[0];
    for (int64_t i = 1; i < count; i++) {
        uint32_t value = values[i];
        values[kept] = value;
        kept += value != last;
        last = value;
    }
    return kept;
}

static inline int64_t find_range(
    const int32_t *boxes, int64_t width, int64_t start, int64_t stop, const int64_t *box, int64_t *out) {
    const int64_t x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];
    int64_t found = 0;
    for (int64_t i = start; i < stop; i++) {
        const int32_t *own = boxes + i * width;
        out[found] = i;
        found += (own[0] <= x1) & (own[width - 2] >= x0) & (own[1] <= y1) & (own[width - 1] >= y0);
    }
    return found;
}

int64_t find_boxes(
    const int32_t *boxes, int64_t width, int64_t count, const int64_t *nodes, int64_t node_count,
    int64_t fanout, const int64_t *box, int64_t *out) {
    if (!nodes) return find_range(boxes, width, 0, count, box, out);
    int64_t found = 0;
    for (int64_t i = 0; i < node_count; i++) {
        if (nodes[i] < 0 || nodes[i] >= (count + fanout - 1) / fanout) return -1;
        int64_t start = nodes[i] * fanout, stop = start + fanout;
        found += find_range(boxes, width, start, stop < count ? stop : count, box, out + found);
    }
    return found;
}
