/* Which edges lead on to others, and are led to by others. */
#include "kernels.h"

#include <stdlib.h>

/* Tell of each vertex whether so many crossings are reached from it; stop as soon as they are. */
static int walk(int32_t count, int64_t arcs, const int32_t *tail, const int32_t *head,
                const int32_t *crossing, int32_t crossings, int32_t enough, uint8_t *connected) {
    int64_t *first = take_zeros((size_t)count + 2, sizeof(int64_t));
    int32_t *heads = take_bytes(((size_t)arcs + 1) * sizeof(int32_t));
    int32_t *seen = take_bytes(((size_t)count + 1) * sizeof(int32_t));
    int32_t *passed = take_bytes(((size_t)crossings + 1) * sizeof(int32_t));
    int32_t *queue = take_bytes(((size_t)count + 1) * sizeof(int32_t));
    int result = -1;
    if (!(first && heads && seen && passed && queue)) goto done;
    for (int64_t i = 0; i < arcs; i++) first[tail[i] + 2]++;
    for (int32_t v = 1; v <= count; v++) first[v + 1] += first[v];
    for (int64_t i = 0; i < arcs; i++) heads[first[tail[i] + 1]++] = head[i];
    for (int32_t v = 0; v < count; v++) seen[v] = -1;
    for (int32_t i = 0; i < crossings; i++) passed[i] = -1;
    for (int32_t v = 0; v < count; v++) {
        int32_t begin = 0, end = 0, reached = 0;
        seen[v] = v;
        queue[end++] = v;
        while (begin < end && reached < enough) {
            int32_t here = queue[begin++];
            if (passed[crossing[here]] != v) {
                passed[crossing[here]] = v;
                reached++;
            }
            for (int64_t k = first[here]; k < first[here + 1]; k++)
                if (seen[heads[k]] != v) {
                    seen[heads[k]] = v;
                    queue[end++] = heads[k];
                }
        }
        connected[v] = reached >= enough;
    }
    result = 0;
done:
    give_back(first); give_back(heads); give_back(seen); give_back(passed); give_back(queue);
    return result;
}

/* Tell of each edge whether `enough` crossings are reached over it (bit 0), and whether it is reached
   from as many (bit 1). Arcs are turns; an edge begins at one crossing and ends at another. Returns 0,
   or -1 without memory. */
int32_t find_connected(int32_t count, int64_t arcs, const int32_t *tail, const int32_t *head,
                       const int32_t *begin, const int32_t *end, int32_t crossings, int32_t enough,
                       uint8_t *connected) {
    uint8_t *back = take_bytes((size_t)count + 1);
    int32_t result = -1;
    if (back && !walk(count, arcs, tail, head, end, crossings, enough, connected)
        && !walk(count, arcs, head, tail, begin, crossings, enough, back)) {
        for (int32_t v = 0; v < count; v++) connected[v] |= (uint8_t)(back[v] << 1);
        result = 0;
    }
    give_back(back);
    return result;
}
