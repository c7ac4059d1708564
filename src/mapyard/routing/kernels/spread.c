/* All that is reached within a bound: a plain search from a few places, which keeps what it has seen
   in a table of its own, so that it costs by what is reached and not by the size of the graph. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t vertex, cost, time, length;
    uint8_t is_settled;
} Label;

typedef struct {
    uint64_t key; /* cost, and the label */
} Waiting;

struct Spread {
    Label *label;
    int64_t count, room;
    uint32_t *slot; /* label + 1, by a hash of the vertex */
    uint32_t slots; /* a power of two */
    Waiting *heap;
    int64_t waiting, heap_room;
    int64_t cut; /* labels that were not searched on from, as they are over the bounds */
};

/* Costs may be less than nothing at the begin, by less than this. */
static const int64_t BIAS = INT64_C(1) << 30;

/* Neighbors have numbers near each other: sixteen of them share a line of the cache. */
static uint32_t hash(int32_t vertex) {
    uint32_t number = (uint32_t)vertex;
    return (number >> 4) * UINT32_C(2654435769) << 4 | (number & 15);
}

static int grow_slots(Spread *s) {
    uint32_t slots = s->slots ? 4 * s->slots : 4096;
    uint32_t *grown = calloc(slots, sizeof(uint32_t));
    if (!grown) return -1;
    for (int64_t i = 0; i < s->count; i++) {
        uint32_t at = hash(s->label[i].vertex) & (slots - 1);
        while (grown[at]) at = (at + 1) & (slots - 1);
        grown[at] = (uint32_t)i + 1;
    }
    free(s->slot);
    s->slot = grown;
    s->slots = slots;
    return 0;
}

/* The label of a vertex, made where it has none; -1 without memory. */
static int64_t find_label(Spread *s, int32_t vertex) {
    if (2 * s->count >= s->slots && grow_slots(s)) return -1;
    uint32_t at = hash(vertex) & (s->slots - 1);
    for (; s->slot[at]; at = (at + 1) & (s->slots - 1))
        if (s->label[s->slot[at] - 1].vertex == vertex) return s->slot[at] - 1;
    if (s->count == s->room) {
        int64_t room = 2 * s->room + 2048;
        Label *grown = realloc(s->label, (size_t)room * sizeof(Label));
        if (!grown) return -1;
        s->label = grown;
        s->room = room;
    }
    s->label[s->count] = (Label){vertex, NO_WAY, 0, 0, 0};
    s->slot[at] = (uint32_t)s->count + 1;
    return s->count++;
}

static int add(Spread *s, int32_t vertex, int32_t cost, int32_t time, int32_t length) {
    int64_t i = find_label(s, vertex);
    if (i < 0) return -1;
    Label *label = &s->label[i];
    if (cost >= label->cost) return 0;
    label->cost = cost;
    label->time = time;
    label->length = length;
    if (s->waiting == s->heap_room) {
        int64_t room = 2 * s->heap_room + 1024;
        Waiting *grown = realloc(s->heap, (size_t)room * sizeof(Waiting));
        if (!grown) return -1;
        s->heap = grown;
        s->heap_room = room;
    }
    uint64_t key = (uint64_t)(cost + BIAS) << 32 | (uint64_t)i;
    int64_t k = s->waiting++;
    for (; k > 0 && s->heap[(k - 1) / 4].key > key; k = (k - 1) / 4) s->heap[k] = s->heap[(k - 1) / 4];
    s->heap[k].key = key;
    return 0;
}

static uint64_t take(Spread *s) {
    uint64_t top = s->heap[0].key, last = s->heap[--s->waiting].key;
    int64_t k = 0;
    for (;;) {
        int64_t least = 4 * k + 1, end = least + 4 < s->waiting ? least + 4 : s->waiting;
        if (least >= s->waiting) break;
        for (int64_t i = least + 1; i < end; i++)
            if (s->heap[i].key < s->heap[least].key) least = i;
        if (s->heap[least].key >= last) break;
        s->heap[k] = s->heap[least];
        k = least;
    }
    s->heap[k].key = last;
    return top;
}

void free_spread(Spread *s) {
    if (!s) return;
    free(s->label); free(s->slot); free(s->heap); free(s);
}

/* Search from places, or backward to them, over all vertices whose time and length, on the cheapest
   way, are within the bounds. A label is what the way takes up to the begin of the vertex's edge, or
   from there; backward, the last edges may be over the bounds at their begin and within at their end.
   Returns NULL without memory; to be freed by free_spread(). */
Spread *spread(const Turns *t, int32_t backward, int64_t places, const int32_t *vertex,
               const int32_t *cost, const int32_t *time, const int32_t *length, int32_t most_time,
               int32_t most_length) {
    Spread *s = calloc(1, sizeof(Spread));
    if (!s) return NULL;
    for (int64_t i = 0; i < places; i++)
        if (add(s, vertex[i], cost[i], time[i], length[i])) goto failed;
    while (s->waiting) {
        int64_t i = (int64_t)(take(s) & UINT32_MAX);
        Label here = s->label[i];
        if (here.is_settled) continue;
        int is_over = here.time > most_time || here.length > most_length;
        s->label[i].is_settled = backward || !is_over;
        s->cut += is_over;
        if (is_over) continue;
        int32_t v = here.vertex;
        const uint32_t *first = backward ? t->back_first : t->first;
        for (uint32_t k = first[v]; k < first[v + 1]; k++) {
            int32_t other = backward ? t->back[k].tail : t->turn[k].head;
            Turn turn = t->turn[backward ? t->back[k].turn : k];
            int32_t more = t->length[t->edge[backward ? other : v]];
            if (turn.cost >= FARTHEST - here.cost) continue;
            if (add(s, other, here.cost + turn.cost, here.time + turn.time, here.length + more)) goto failed;
        }
    }
    return s;
failed:
    free_spread(s);
    return NULL;
}

/* How many labels were over the bounds: 0 where the search came to its own end. */
int64_t count_cut(const Spread *s) { return s->cut; }

/* How many vertices were reached; they are copied where there are arrays for them. */
int64_t list_reached(const Spread *s, int32_t *vertex, int32_t *time, int32_t *length) {
    int64_t count = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (!s->label[i].is_settled) continue;
        if (vertex) {
            vertex[count] = s->label[i].vertex;
            time[count] = s->label[i].time;
            length[count] = s->label[i].length;
        }
        count++;
    }
    return count;
}
