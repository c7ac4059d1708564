#include "kernels.h"

/* Both arrays mostly ascend: each search begins where the last one ended, in steps that double. */
#define FIND_SORTED(NAME, TYPE)                                                                          \
    void NAME(const TYPE *known, int64_t count, const TYPE *wanted, int64_t wanted_count, int64_t *out) { \
        int64_t at = 0;                                                                                  \
        for (int64_t i = 0; i < wanted_count; i++) {                                                     \
            TYPE value = wanted[i];                                                                      \
            int64_t low, high;                                                                           \
            if (at < count && known[at] < value) {                                                       \
                int64_t step = 1;                                                                        \
                low = at + 1;                                                                            \
                high = low;                                                                              \
                while (high < count && known[high] < value) {                                            \
                    low = high + 1;                                                                      \
                    high += step;                                                                        \
                    step <<= 1;                                                                          \
                }                                                                                        \
                if (high > count) high = count;                                                          \
            } else if (at > 0 && known[at - 1] >= value) {                                               \
                low = 0;                                                                                 \
                high = at - 1;                                                                           \
            } else {                                                                                     \
                low = high = at;                                                                         \
            }                                                                                            \
            while (low < high) {                                                                         \
                int64_t middle = low + ((high - low) >> 1);                                              \
                if (known[middle] < value)                                                               \
                    low = middle + 1;                                                                    \
                else                                                                                     \
                    high = middle;                                                                       \
            }                                                                                            \
            at = low;                                                                                    \
            out[i] = at < count && known[at] == value ? at : -1;                                         \
        }                                                                                                \
    }

FIND_SORTED(find_sorted_32, uint32_t)
FIND_SORTED(find_sorted_64, int64_t)

int64_t count_kept(
    const int32_t *values, const uint32_t *offsets, int64_t run_count, int64_t value_count,
    const int32_t *numbers, int64_t number_count, int64_t *counts) {
    int64_t at = 0;
    for (int64_t run = 0; run < run_count; run++) {
        int64_t stop = offsets[run + 1], kept = 0;
        if (stop < at || stop > value_count) return -1;
        for (; at < stop; at++) {
            if ((uint32_t)values[at] >= (uint64_t)number_count) return -1;
            kept += numbers[values[at]] >= 0;
        }
        counts[run] = kept;
    }
    return at;
}

int64_t splice_runs(
    const int32_t *values, const uint32_t *offsets, int64_t run_count, int64_t value_count,
    const int32_t *numbers, int64_t number_count, const int64_t *runs, int64_t first, int64_t stop,
    const int32_t *added, const int64_t *added_offsets, int32_t *out, int64_t room) {
    int64_t written = 0;
    for (int64_t i = first; i < stop; i++) {
        int64_t run = runs[i], next = added_offsets[i], last = added_offsets[i + 1], at = 0, end = 0;
        if (run >= run_count || written + last - next > room) return -1;
        if (run >= 0) {
            at = offsets[run];
            end = offsets[run + 1];
        }
        if (end > value_count || end < at || written + (end - at) + (last - next) > room) return -1;
        for (; at < end; at++) {
            if ((uint32_t)values[at] >= (uint64_t)number_count) return -1;
            int32_t number = numbers[values[at]];
            if (number < 0) continue;
            while (next < last && added[next] < number) out[written++] = added[next++];
            out[written++] = number;
        }
        while (next < last) out[written++] = added[next++];
    }
    return written;
}
