/* Contraction of a directed graph in a given order (Dibbelt, Strasser, Wagner 2016).

   Contracting a vertex joins all its later neighbors. Which ones are joined does not depend on
   costs (`complete`); the costs of the shortcuts come from triangles over lower vertices
   (`customize`). A shortcut that is dearer than a way over higher vertices is on no cheapest way
   and left out (`perfect`), and only those that are kept get a time and a length (`keep_shortcuts`).
   What grows with the shortcuts are the caller's arrays, so that they may lie in mapped files. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

struct Completion {
    int32_t count;
    uint32_t *first; /* of each vertex's arcs to higher ones, sorted */
    int32_t *head;
    int32_t *parent;
    int32_t *up, *down, *up_middle, *down_middle;
    int32_t *round_cost, *round_middle;
    uint8_t *dropped; /* bit 0: upward, bit 1: downward */
};

/* Arcs of the graph itself, sorted by tail and head. */
typedef struct {
    const int32_t *tail, *head, *cost, *time, *length;
    int64_t arcs;
    int64_t *first; /* per tail */
    int32_t *by_tail;
} Input;

static int compare(const void *one, const void *other) {
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a > b) - (a < b);
}

static void sort(int32_t *values, int64_t count) {
    if (count > 24) {
        qsort(values, count, sizeof(int32_t), compare);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        int32_t value = values[i];
        int64_t k = i;
        for (; k > 0 && values[k - 1] > value; k--) values[k] = values[k - 1];
        values[k] = value;
    }
}

/* Join the later neighbors of each vertex: those of its arcs, and those of its children. */
static int join(Completion *c, const Input *in) {
    int32_t n = c->count;
    int64_t *low_first = take_zeros((size_t)n + 2, sizeof(int64_t));
    int32_t *low_head = take_bytes(((size_t)in->arcs + 1) * sizeof(int32_t));
    int32_t *mark = take_bytes(((size_t)n + 1) * sizeof(int32_t));
    int32_t *child = take_bytes(((size_t)n + 1) * sizeof(int32_t)); /* of each vertex, the last one */
    int32_t *sibling = take_bytes(((size_t)n + 1) * sizeof(int32_t));
    size_t room = (size_t)in->arcs + (size_t)n + 16, used = 0;
    c->head = take_bytes(room * sizeof(int32_t));
    int result = -1;
    if (!(low_first && low_head && mark && child && sibling && c->head)) goto done;
    for (int64_t i = 0; i < in->arcs; i++) {
        int32_t a = in->tail[i], b = in->head[i];
        if (a != b) low_first[(a < b ? a : b) + 2]++;
    }
    for (int32_t v = 1; v <= n; v++) low_first[v + 1] += low_first[v];
    for (int64_t i = 0; i < in->arcs; i++) {
        int32_t a = in->tail[i], b = in->head[i];
        if (a != b) low_head[low_first[(a < b ? a : b) + 1]++] = a < b ? b : a;
    }
    for (int32_t v = 0; v < n; v++) mark[v] = child[v] = -1;
    for (int32_t v = 0; v < n; v++) {
        size_t begin = used, most = (size_t)(low_first[v + 1] - low_first[v]);
        c->first[v] = (uint32_t)used;
        for (int32_t k = child[v]; k >= 0; k = sibling[k]) most += c->first[k + 1] - c->first[k];
        if (used + most > room) {
            room = used + most + room / 2;
            int32_t *grown = take_more(c->head, room * sizeof(int32_t));
            if (!grown) goto done;
            c->head = grown;
        }
        mark[v] = v;
        for (int64_t k = low_first[v]; k < low_first[v + 1]; k++) {
            int32_t head = low_head[k];
            if (mark[head] != v) { mark[head] = v; c->head[used++] = head; }
        }
        for (int32_t k = child[v]; k >= 0; k = sibling[k])
            for (uint32_t a = c->first[k]; a < c->first[k + 1]; a++) {
                int32_t head = c->head[a];
                if (mark[head] != v) { mark[head] = v; c->head[used++] = head; }
            }
        if (used > UINT32_MAX) goto done;
        sort(c->head + begin, (int64_t)(used - begin));
        c->first[v + 1] = (uint32_t)used;
        c->parent[v] = used > begin ? c->head[begin] : -1;
        if (used > begin) {
            sibling[v] = child[c->head[begin]];
            child[c->head[begin]] = v;
        }
    }
    result = 0;
done:
    give_back(low_first); give_back(low_head); give_back(mark); give_back(child); give_back(sibling);
    return result;
}

static int64_t find_head(const int32_t *head, int64_t low, int64_t high, int32_t wanted) {
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (head[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void set_costs(Completion *c, const Input *in) {
    int64_t arcs = c->first[c->count];
    for (int64_t i = 0; i < arcs; i++) {
        c->up[i] = c->down[i] = NO_WAY;
        c->up_middle[i] = c->down_middle[i] = -1;
    }
    for (int32_t v = 0; v < c->count; v++) {
        c->round_cost[v] = NO_WAY;
        c->round_middle[v] = -1;
    }
    for (int64_t i = 0; i < in->arcs; i++) {
        int32_t a = in->tail[i], b = in->head[i], cost = in->cost[i];
        if (cost >= NO_WAY) continue;
        if (a == b) {
            if (cost < c->round_cost[a]) c->round_cost[a] = cost;
            continue;
        }
        int32_t low = a < b ? a : b, high = a < b ? b : a;
        int64_t k = find_head(c->head, c->first[low], c->first[low + 1], high);
        int32_t *kept = a < b ? &c->up[k] : &c->down[k];
        if (cost < *kept) *kept = cost;
    }
}

/* Go over the triangles of lowest vertex v; `at` has for heads of v's arcs the arc plus 1. */
#define EACH_ARC(c, v, i) for (uint32_t i = (c)->first[v]; i < (c)->first[(v) + 1]; i++)

static void set_shortcuts(Completion *c, uint32_t *at) {
    for (int32_t v = 0; v < c->count; v++) {
        EACH_ARC(c, v, i) at[c->head[i]] = i + 1;
        EACH_ARC(c, v, i) {
            int32_t a = c->head[i], up_i = c->up[i], down_i = c->down[i];
            int64_t around = (int64_t)up_i + down_i;
            if (around < c->round_cost[a]) {
                c->round_cost[a] = (int32_t)around;
                c->round_middle[a] = v;
            }
            if (i + 1 == c->first[v + 1] || (up_i == NO_WAY && down_i == NO_WAY)) continue;
            EACH_ARC(c, a, k) {
                uint32_t j = at[c->head[k]];
                if (!j) continue;
                j--;
                int32_t over = down_i + c->up[j]; /* a → v → b */
                if (over < c->up[k]) { c->up[k] = over; c->up_middle[k] = v; }
                over = c->down[j] + up_i;
                if (over < c->down[k]) { c->down[k] = over; c->down_middle[k] = v; }
            }
        }
        EACH_ARC(c, v, i) at[c->head[i]] = 0;
    }
}

static void perfect(Completion *c, uint32_t *at) {
    for (int32_t v = c->count - 1; v >= 0; v--) {
        EACH_ARC(c, v, i) {
            at[c->head[i]] = i + 1;
            c->dropped[i] = (c->up[i] >= NO_WAY) | (c->down[i] >= NO_WAY) << 1;
        }
        EACH_ARC(c, v, i) {
            int32_t a = c->head[i];
            EACH_ARC(c, a, k) {
                uint32_t j = at[c->head[k]];
                if (!j) continue;
                j--;
                int32_t up_k = c->up[k], down_k = c->down[k], over;
                over = c->up[j] + down_k; /* v → b → a */
                if (over < c->up[i]) { c->up[i] = over; c->dropped[i] |= 1; }
                over = up_k + c->down[j];
                if (over < c->down[i]) { c->down[i] = over; c->dropped[i] |= 2; }
                over = c->up[i] + up_k; /* v → a → b */
                if (over < c->up[j]) { c->up[j] = over; c->dropped[j] |= 1; }
                over = down_k + c->down[i];
                if (over < c->down[j]) { c->down[j] = over; c->dropped[j] |= 2; }
            }
        }
        EACH_ARC(c, v, i) at[c->head[i]] = 0;
    }
}

static Arc *find_arc(const uint32_t *first, Arc *arcs, int32_t v, int32_t depth) {
    uint32_t low = first[v], high = first[v + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arcs[middle].depth > depth) low = middle + 1;
        else high = middle;
    }
    return &arcs[low];
}

static void measure_input(const Input *in, int32_t tail, int32_t head, Arc *arc) {
    for (int64_t k = in->first[tail]; k < in->first[tail + 1]; k++) {
        int32_t i = in->by_tail[k];
        if (in->head[i] == head && in->cost[i] == arc->cost) {
            arc->time = in->time[i];
            arc->length = in->length[i];
            return;
        }
    }
}

/* Keep what is not dropped, and add up times and lengths from the lowest vertices on. */
static void keep(const Completion *c, const Input *in, Hierarchy *h) {
    int32_t n = c->count;
    for (int32_t v = n - 1; v >= 0; v--)
        h->depth[v] = c->parent[v] < 0 ? 0 : h->depth[c->parent[v]] + 1;
    uint32_t up = 0, down = 0;
    for (int32_t v = 0; v < n; v++) {
        h->up_first[v] = up;
        h->down_first[v] = down;
        EACH_ARC(c, v, i) {
            int32_t head = c->head[i];
            for (int is_down = 0; is_down < 2; is_down++) {
                if (c->dropped[i] >> is_down & 1) continue;
                int32_t middle = is_down ? c->down_middle[i] : c->up_middle[i];
                Arc *arc = is_down ? &h->down[down] : &h->up[up];
                if (is_down) h->down_middle[down++] = middle;
                else h->up_middle[up++] = middle;
                *arc = (Arc){h->depth[head], is_down ? c->down[i] : c->up[i], 0, 0};
                int32_t from = is_down ? head : v, to = is_down ? v : head;
                if (middle < 0) {
                    measure_input(in, from, to, arc);
                    continue;
                }
                const Arc *to_middle = find_arc(h->down_first, h->down, middle, h->depth[from]);
                const Arc *on = find_arc(h->up_first, h->up, middle, h->depth[to]);
                arc->time = to_middle->time + on->time;
                arc->length = to_middle->length + on->length;
            }
        }
        h->up_first[v + 1] = up;
        h->down_first[v + 1] = down;
    }
    for (int32_t v = 0; v < n; v++) {
        int32_t middle = c->round_middle[v], cost = c->round_cost[v];
        h->round[v] = (Arc){h->depth[v], cost, 0, 0};
        if (cost >= NO_WAY) continue;
        if (middle < 0) {
            measure_input(in, v, v, &h->round[v]);
            continue;
        }
        const Arc *to_middle = find_arc(h->down_first, h->down, middle, h->depth[v]);
        const Arc *on = find_arc(h->up_first, h->up, middle, h->depth[v]);
        /* Where one of them is dropped, a round over higher vertices is cheaper. */
        if (to_middle == h->down + h->down_first[middle + 1] || to_middle->depth != h->depth[v]
            || on == h->up + h->up_first[middle + 1] || on->depth != h->depth[v]) {
            h->round[v].cost = NO_WAY;
            continue;
        }
        h->round[v].time = to_middle->time + on->time;
        h->round[v].length = to_middle->length + on->length;
    }
}

static int sort_input(Input *in, int32_t count) {
    in->first = take_zeros((size_t)count + 2, sizeof(int64_t));
    in->by_tail = take_bytes(((size_t)in->arcs + 1) * sizeof(int32_t));
    if (!(in->first && in->by_tail)) return -1;
    for (int64_t i = 0; i < in->arcs; i++) in->first[in->tail[i] + 2]++;
    for (int32_t v = 1; v <= count; v++) in->first[v + 1] += in->first[v];
    for (int64_t i = 0; i < in->arcs; i++) in->by_tail[in->first[in->tail[i] + 1]++] = (int32_t)i;
    return 0;
}

/* Join the vertices of a graph that is contracted in the order of their numbers. Returns NULL without
   memory; to be freed by free_completion(). */
Completion *complete(int32_t count, int64_t arcs, const int32_t *tail, const int32_t *head) {
    size_t n = (size_t)count + 1;
    Completion *c = take_zeros(1, sizeof(Completion));
    if (!c) return NULL;
    c->count = count;
    c->first = take_zeros(n + 1, sizeof(uint32_t));
    c->parent = take_bytes(n * sizeof(int32_t));
    Input in = {tail, head, NULL, NULL, NULL, arcs, NULL, NULL};
    if (c->first && c->parent && !join(c, &in)) return c;
    free_completion(c);
    return NULL;
}

/* How many pairs were joined. */
int64_t count_joined(const Completion *c) { return c->first[c->count]; }

void free_completion(Completion *c) {
    if (!c) return;
    give_back(c->first); give_back(c->head); give_back(c->parent); give_back(c->round_cost);
    give_back(c);
}

/* Find the costs of shortcuts, and which of them are kept. There is room in the first arrays for each
   pair that was joined, in `round_middle` for each vertex; they are needed until the completion is
   freed. `kept` gets the numbers of shortcuts up and down. Returns 0, or -1 without memory. */
int32_t customize(Completion *c, int64_t arcs, const int32_t *tail, const int32_t *head, const int32_t *cost,
                  int32_t *up, int32_t *down, int32_t *up_middle, int32_t *down_middle, uint8_t *dropped,
                  int32_t *round_middle, int64_t *kept) {
    size_t n = (size_t)c->count + 1;
    Input in = {tail, head, cost, NULL, NULL, arcs, NULL, NULL};
    uint32_t *at = take_zeros(n, sizeof(uint32_t));
    give_back(c->round_cost);
    c->round_cost = take_bytes(n * sizeof(int32_t));
    if (!at || !c->round_cost) {
        give_back(at);
        return -1;
    }
    c->up = up; c->down = down; c->up_middle = up_middle; c->down_middle = down_middle;
    c->dropped = dropped; c->round_middle = round_middle;
    set_costs(c, &in);
    set_shortcuts(c, at);
    perfect(c, at);
    give_back(at);
    kept[0] = kept[1] = 0;
    for (int64_t i = 0; i < count_joined(c); i++) {
        kept[0] += !(dropped[i] & 1);
        kept[1] += !(dropped[i] & 2);
    }
    return 0;
}

/* Write the contracted graph into its arrays, but for `round_middle`. Returns 0, or -1 without memory. */
int32_t keep_shortcuts(const Completion *c, int64_t arcs, const int32_t *tail, const int32_t *head,
                       const int32_t *cost, const int32_t *time, const int32_t *length, Hierarchy *h) {
    Input in = {tail, head, cost, time, length, arcs, NULL, NULL};
    int32_t result = sort_input(&in, c->count);
    if (!result) {
        memcpy(h->parent, c->parent, (size_t)c->count * sizeof(int32_t));
        keep(c, &in, h);
    }
    give_back(in.first); give_back(in.by_tail);
    return result;
}
