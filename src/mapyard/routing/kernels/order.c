/* An order of contraction of roads, by nested dissection of the crossings between them.

   Inertial flow (Schild, Sommer 2015): of all crossings in a part, the quarter that lies farthest
   in some direction and the quarter at the other end are kept apart by cutting as few roads as can
   be, which is a maximum flow of roads that carry one unit each. The best of four directions is
   taken; its roads come last, after those of both sides, which are parted in turn. Without
   the roads that are cut no way leads from side to side: so for directed edges and their turns this
   is an order by vertex separators. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 4, END_SHARE = 4 };

typedef struct {
    int32_t head, road; /* the crossing at its end; its place among the part's roads */
} Half;

typedef struct {
    /* One part: crossings are numbered from 0, halves of roads sorted by crossing. */
    int32_t *first;
    Half *halves;
    /* Flow over each road: 0, or the crossing that it comes from plus 1. */
    int32_t *flow;
    int32_t *level, *at, *queue, *stack, *via;
    uint8_t *kind;  /* 1: where the flow begins, 2: where it ends */
    uint8_t *side, *best_side;
    int64_t *keys, *sorted;
} Work;

static int64_t select_key(int64_t *keys, int64_t count, int64_t nth) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int64_t pivot = keys[low + (high - low) / 2], i = low, j = high;
        while (i <= j) {
            while (keys[i] < pivot) i++;
            while (keys[j] > pivot) j--;
            if (i <= j) {
                int64_t swapped = keys[i];
                keys[i++] = keys[j];
                keys[j--] = swapped;
            }
        }
        if (nth <= j) high = j;
        else if (nth >= i) low = i;
        else break;
    }
    return keys[nth];
}

/* Whether the road can take one more unit away from a crossing. */
static inline int can_leave(const Work *w, int32_t from, Half half) {
    return w->flow[half.road] != from + 1;
}

/* Number all crossings by their distance from where the flow begins; return whether it gets on. */
static int find_levels(Work *w, int32_t count) {
    int32_t begin = 0, end = 0;
    int reached = 0;
    for (int32_t i = 0; i < count; i++) {
        w->level[i] = w->kind[i] == 1 ? 0 : -1;
        if (w->kind[i] == 1) w->queue[end++] = i;
    }
    while (begin < end) {
        int32_t here = w->queue[begin++];
        if (w->kind[here] == 2) { reached = 1; continue; }
        for (int32_t k = w->first[here]; k < w->first[here + 1]; k++) {
            Half half = w->halves[k];
            if (w->level[half.head] < 0 && can_leave(w, here, half)) {
                w->level[half.head] = w->level[here] + 1;
                w->queue[end++] = half.head;
            }
        }
    }
    return reached;
}

/* Send units along shortest ways until none is left; return how many, at most `most`. */
static int32_t send_units(Work *w, int32_t count, int32_t most) {
    int32_t sent = 0;
    for (int32_t i = 0; i < count; i++) w->at[i] = w->first[i];
    for (int32_t source = 0; source < count && sent < most; source++) {
        if (w->kind[source] != 1) continue;
        int32_t depth = 0;
        w->stack[0] = source;
        while (depth >= 0) {
            int32_t here = w->stack[depth];
            if (w->kind[here] == 2) {
                /* The roads back to the source carry it. */
                for (int32_t d = depth; d > 0; d--) {
                    Half half = w->halves[w->via[d]];
                    int32_t *flow = &w->flow[half.road];
                    *flow = *flow == half.head + 1 && half.head != w->stack[d - 1] ? 0 : w->stack[d - 1] + 1;
                    w->at[w->stack[d - 1]]++;
                }
                sent++;
                if (sent >= most) return sent;
                depth = 0;
                continue;
            }
            int moved = 0;
            for (int32_t *k = &w->at[here]; *k < w->first[here + 1]; (*k)++) {
                Half half = w->halves[*k];
                if (w->level[half.head] == w->level[here] + 1 && can_leave(w, here, half)) {
                    w->via[++depth] = *k;
                    w->stack[depth] = half.head;
                    moved = 1;
                    break;
                }
            }
            if (!moved) {
                depth--;
                if (depth >= 0) w->at[w->stack[depth]]++;
            }
        }
    }
    return sent;
}

/* Crossings that the flow still reaches from where it begins (`forward`), or that still reach its end. */
static int32_t find_side(Work *w, int32_t count, int forward) {
    int32_t begin = 0, end = 0;
    for (int32_t i = 0; i < count; i++) {
        w->side[i] = w->kind[i] == (forward ? 1 : 2);
        if (w->side[i]) w->queue[end++] = i;
    }
    while (begin < end) {
        int32_t here = w->queue[begin++];
        for (int32_t k = w->first[here]; k < w->first[here + 1]; k++) {
            Half half = w->halves[k];
            if (w->side[half.head]) continue;
            if (forward ? can_leave(w, here, half) : w->flow[half.road] != half.head + 1) {
                w->side[half.head] = 1;
                w->queue[end++] = half.head;
            }
        }
    }
    return end;
}

static int64_t project(int32_t x, int32_t y, int direction) {
    switch (direction) {
    case 0: return x;
    case 1: return y;
    case 2: return (int64_t)x + y;
    default: return (int64_t)x - y;
    }
}

/* Part `count` crossings; `best_side` tells the sides. Returns the size of the smaller one, 0 if
   they cannot be parted. */
static int32_t part(Work *w, int32_t count, int32_t roads, const int32_t *x, const int32_t *y) {
    int32_t ends = count / END_SHARE > 0 ? count / END_SHARE : 1;
    int32_t best_cut = 0, best_smaller = 0;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        for (int32_t i = 0; i < count; i++)
            w->keys[i] = project(x[i], y[i], direction) * (INT64_C(1) << 30) + i;
        memcpy(w->sorted, w->keys, count * sizeof(int64_t));
        int64_t low = select_key(w->sorted, count, ends - 1);
        int64_t high = select_key(w->sorted, count, count - ends);
        for (int32_t i = 0; i < count; i++)
            w->kind[i] = w->keys[i] <= low ? 1 : w->keys[i] >= high ? 2 : 0;
        memset(w->flow, 0, roads * sizeof(int32_t));
        /* No more units than make it worse than what is found, with sides of half each. */
        int64_t most = best_smaller ? (int64_t)best_cut * (count / 2) / best_smaller + 1 : roads + 1;
        int32_t cut = 0;
        if (most > roads + 1) most = roads + 1;
        while (cut < most && find_levels(w, count)) cut += send_units(w, count, (int32_t)(most - cut));
        if (cut >= most && best_smaller) continue;
        for (int forward = 0; forward < 2; forward++) {
            int32_t size = find_side(w, count, forward);
            int32_t smaller = size < count - size ? size : count - size;
            if (smaller > 0 && (!best_smaller || (int64_t)cut * best_smaller < (int64_t)best_cut * smaller
                || ((int64_t)cut * best_smaller == (int64_t)best_cut * smaller && smaller > best_smaller))) {
                best_cut = cut;
                best_smaller = smaller;
                memcpy(w->best_side, w->side, count);
            }
        }
    }
    return best_smaller;
}

/* Order roads between crossings `tail` and `head` (numbers below `crossings`, places `x`, `y` below
   2^30): `order` gets the number of each road at its place. Returns 0, or -1 without memory. */
int32_t order_roads(int32_t crossings, int32_t roads, const int32_t *tail, const int32_t *head,
                    const int32_t *x, const int32_t *y, int32_t *order) {
    typedef struct { int32_t crossing_begin, crossing_end, road_begin, road_end; } Part;
    size_t n = (size_t)crossings + 1, m = (size_t)roads + 1;
    Work w = {
        take_bytes((n + 1) * sizeof(int32_t)), take_bytes(2 * m * sizeof(Half)), take_bytes(m * sizeof(int32_t)),
        take_bytes(n * sizeof(int32_t)), take_bytes(n * sizeof(int32_t)), take_bytes(n * sizeof(int32_t)),
        take_bytes(n * sizeof(int32_t)), take_bytes(n * sizeof(int32_t)), take_bytes(n), take_bytes(n), take_bytes(n),
        take_bytes(n * sizeof(int64_t)), take_bytes(n * sizeof(int64_t)),
    };
    /* Crossings of a part lie side by side in `members`, its roads in `order`. */
    int32_t *members = take_bytes(n * sizeof(int32_t)), *local = take_bytes(n * sizeof(int32_t));
    int32_t *part_x = take_bytes(n * sizeof(int32_t)), *part_y = take_bytes(n * sizeof(int32_t));
    int32_t *kept = take_bytes(m * sizeof(int32_t)), *moved = take_bytes(n * sizeof(int32_t));
    Part *parts = take_bytes((n + 1) * sizeof(Part));
    int32_t result = -1;
    if (!(w.first && w.halves && w.flow && w.level && w.at && w.queue && w.stack && w.via && w.kind
          && w.side && w.best_side && w.keys && w.sorted && members && local && part_x && part_y
          && kept && moved && parts))
        goto done;
    for (int32_t i = 0; i < crossings; i++) members[i] = i;
    for (int32_t i = 0; i < roads; i++) order[i] = i;
    size_t waiting = 0;
    parts[waiting++] = (Part){0, crossings, 0, roads};
    while (waiting) {
        Part p = parts[--waiting];
        int32_t count = p.crossing_end - p.crossing_begin, own = p.road_end - p.road_begin;
        int32_t *here = members + p.crossing_begin, *mine = order + p.road_begin;
        if (own < 2 || count < 2) continue;
        for (int32_t i = 0; i < count; i++) {
            local[here[i]] = i;
            part_x[i] = x[here[i]];
            part_y[i] = y[here[i]];
        }
        memset(w.first, 0, ((size_t)count + 2) * sizeof(int32_t));
        for (int32_t i = 0; i < own; i++) {
            w.first[local[tail[mine[i]]] + 2]++;
            w.first[local[head[mine[i]]] + 2]++;
        }
        for (int32_t i = 2; i <= count; i++) w.first[i] += w.first[i - 1];
        for (int32_t i = 0; i < own; i++) {
            int32_t a = local[tail[mine[i]]], b = local[head[mine[i]]];
            w.halves[w.first[a + 1]++] = (Half){b, i};
            w.halves[w.first[b + 1]++] = (Half){a, i};
        }
        if (!part(&w, count, own, part_x, part_y)) continue;
        /* Side 1 first, then side 0, then the roads between them. */
        int32_t ones = 0, zeros = 0, roads_of[2] = {0, 0}, cut = 0;
        for (int32_t i = 0; i < count; i++) {
            if (w.best_side[i]) here[ones++] = here[i];
            else moved[zeros++] = here[i];
        }
        memcpy(here + ones, moved, zeros * sizeof(int32_t));
        memcpy(kept, mine, own * sizeof(int32_t));
        for (int32_t i = 0; i < own; i++) {
            int one = w.best_side[local[tail[kept[i]]]], other = w.best_side[local[head[kept[i]]]];
            if (one == other) roads_of[one]++;
        }
        int32_t at[2] = {roads_of[1], 0};
        for (int32_t i = 0; i < own; i++) {
            int one = w.best_side[local[tail[kept[i]]]], other = w.best_side[local[head[kept[i]]]];
            if (one == other) mine[at[one]++] = kept[i];
            else mine[roads_of[0] + roads_of[1] + cut++] = kept[i];
        }
        Part first = {p.crossing_begin, p.crossing_begin + ones, p.road_begin, p.road_begin + roads_of[1]};
        Part second = {first.crossing_end, p.crossing_end, first.road_end, first.road_end + roads_of[0]};
        parts[waiting++] = first;
        parts[waiting++] = second;
    }
    result = 0;
done:
    give_back(w.first); give_back(w.halves); give_back(w.flow); give_back(w.level); give_back(w.at); give_back(w.queue);
    give_back(w.stack); give_back(w.via); give_back(w.kind); give_back(w.side); give_back(w.best_side); give_back(w.keys);
    give_back(w.sorted); give_back(members); give_back(local); give_back(part_x); give_back(part_y); give_back(kept);
    give_back(moved); give_back(parts);
    return result;
}
