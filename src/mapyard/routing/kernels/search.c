/* Searches in a contracted graph: no queue, since all that is reached are ancestors.

   A search goes from a vertex to the root of the elimination tree and settles each vertex on its
   way; its label of them is an array by depth. The cheapest way from one vertex to another goes
   over a common ancestor of both, and these are where the two arrays begin alike.

   A position may have several places on roads. Their ways to the root join sooner or later: the
   first is a whole chain, each further one is the part before it joins an earlier chain. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_ALL_PROCESSORS __attribute__((target_clones("avx2", "default")))
#else
#define FOR_ALL_PROCESSORS
#endif

typedef struct {
    int32_t join;  /* depth of the last ancestor that it shares with chain `onto`, or -1 */
    int32_t end;   /* depth of its first vertex */
    int32_t onto;
    int64_t at;    /* where depth join + 1 lies */
} Chain;

struct Labels {
    int64_t positions, chains, used, chain_room, room;
    int64_t *first; /* chain, per position */
    Chain *chain;
    int32_t *vertex, *cost, *time, *length;
};

static int grow(Labels *l, int64_t more) {
    if (l->used + more <= l->room) return 0;
    int64_t room = l->used + more + l->room;
    int32_t **columns[] = {&l->vertex, &l->cost, &l->time, &l->length};
    for (int i = 0; i < 4; i++) {
        int32_t *grown = realloc(*columns[i], (size_t)room * sizeof(int32_t));
        if (!grown) return -1;
        *columns[i] = grown;
    }
    l->room = room;
    return 0;
}

/* Where a chain, or one that it joins, has a depth. */
static inline int64_t locate(const Chain *chains, const Chain *chain, int32_t depth) {
    while (depth <= chain->join) chain = &chains[chain->onto];
    return chain->at + depth - chain->join - 1;
}

static int add_chain(Labels *l, const Hierarchy *h, int64_t first, int32_t start) {
    if (l->chains == l->chain_room) {
        l->chain_room = 2 * l->chain_room + 8;
        Chain *grown = realloc(l->chain, (size_t)l->chain_room * sizeof(Chain));
        if (!grown) return -1;
        l->chain = grown;
    }
    Chain new = {-1, h->depth[start], 0, l->used};
    int32_t v = start;
    for (int32_t depth = new.end; depth >= 0; depth--, v = h->parent[v]) {
        for (int64_t k = first; k < l->chains; k++) {
            Chain *other = &l->chain[k];
            if (depth > other->join && depth <= other->end
                && l->vertex[other->at + depth - other->join - 1] == v) {
                new.join = depth;
                new.onto = (int32_t)(k - first);
                goto joined;
            }
        }
    }
joined:;
    int64_t count = new.end - new.join;
    if (grow(l, count)) return -1;
    v = start;
    for (int64_t i = count - 1; i >= 0; i--, v = h->parent[v]) {
        l->vertex[new.at + i] = v;
        l->cost[new.at + i] = NO_WAY;
    }
    l->used += count;
    l->chain[l->chains++] = new;
    return 0;
}

static int search_position(Labels *l, const Hierarchy *h, const uint32_t *arcs_first, const Arc *arcs,
                           int64_t places, const int32_t *vertex, const int32_t *cost,
                           const int32_t *time, const int32_t *length) {
    int64_t first = l->chains;
    for (int64_t p = 0; p < places; p++) {
        if (add_chain(l, h, first, vertex[p])) return -1;
        int64_t i = locate(l->chain + first, &l->chain[l->chains - 1], h->depth[vertex[p]]);
        if (cost[p] < l->cost[i]) {
            l->cost[i] = cost[p];
            l->time[i] = time[p];
            l->length[i] = length[p];
        }
    }
    for (int64_t c = l->chains - 1; c >= first; c--) {
        const Chain chain = l->chain[c];
        for (int32_t depth = chain.end; depth > chain.join; depth--) {
            int64_t i = chain.at + depth - chain.join - 1;
            int32_t here_cost = l->cost[i];
            if (here_cost >= NO_WAY) continue;
            int32_t v = l->vertex[i], here_time = l->time[i], here_length = l->length[i];
            for (uint32_t a = arcs_first[v]; a < arcs_first[v + 1]; a++) {
                const Arc arc = arcs[a];
                int64_t k = arc.depth > chain.join ? chain.at + arc.depth - chain.join - 1
                                                   : locate(l->chain + first, &chain, arc.depth);
                if (here_cost + arc.cost < l->cost[k]) {
                    l->cost[k] = here_cost + arc.cost;
                    l->time[k] = here_time + arc.time;
                    l->length[k] = here_length + arc.length;
                }
            }
        }
    }
    return 0;
}

void free_labels(Labels *l) {
    if (!l) return;
    free(l->first); free(l->chain); free(l->vertex); free(l->cost); free(l->time); free(l->length);
    free(l);
}

int64_t count_labels(const Labels *labels) { return labels->used; }

/* Search from positions (`upward`), or backward to them. Position i has the places from first[i] to
   first[i + 1]: the vertex that each begins at, and the cost, time and length that it begins with.
   Returns NULL without memory; to be freed by free_labels(). */
Labels *search(const Hierarchy *h, int32_t upward, int64_t positions, const int64_t *first,
               const int32_t *vertex, const int32_t *cost, const int32_t *time,
               const int32_t *length) {
    Labels *l = calloc(1, sizeof(Labels));
    if (!l) return NULL;
    l->positions = positions;
    l->first = malloc(((size_t)positions + 1) * sizeof(int64_t));
    if (!l->first) { free_labels(l); return NULL; }
    for (int64_t i = 0; i < positions; i++) {
        int64_t p = first[i];
        l->first[i] = l->chains;
        if (search_position(l, h, upward ? h->up_first : h->down_first, upward ? h->up : h->down,
                            first[i + 1] - p, vertex + p, cost + p, time + p, length + p)) {
            free_labels(l);
            return NULL;
        }
    }
    l->first[positions] = l->chains;
    return l;
}

FOR_ALL_PROCESSORS
static int32_t find_least(const int32_t *restrict one, const int32_t *restrict other, int64_t count) {
    int32_t least = FARTHEST;
    for (int64_t i = 0; i < count; i++) {
        int32_t sum = one[i] + other[i];
        least = sum < least ? sum : least;
    }
    return least;
}

/* How many vertices two arrays have in common at their beginning, of at least one. */
static int64_t count_common(const int32_t *one, const int32_t *other, int64_t count) {
    int64_t low = 1;
    while (low < count) {
        int64_t middle = low + (count - low + 1) / 2;
        if (one[middle - 1] == other[middle - 1]) low = middle;
        else count = middle - 1;
    }
    return low;
}

typedef struct {
    int32_t cost;
    int64_t from, to; /* places in the labels, of the vertex that the way goes over */
} Best;

static Best combine_cell(const Labels *from, int64_t row, const Labels *to, int64_t column) {
    Best best = {FARTHEST, 0, 0};
    for (int64_t i = from->first[row]; i < from->first[row + 1]; i++)
        for (int64_t j = to->first[column]; j < to->first[column + 1]; j++) {
            const Chain *a = &from->chain[i], *b = &to->chain[j];
            int32_t low = (a->join > b->join ? a->join : b->join) + 1;
            int64_t count = (a->end < b->end ? a->end : b->end) - low + 1;
            if (count <= 0) continue;
            int64_t p = a->at + low - a->join - 1, q = b->at + low - b->join - 1;
            if (from->vertex[p] != to->vertex[q]) continue;
            count = count_common(from->vertex + p, to->vertex + q, count);
            int32_t least = find_least(from->cost + p, to->cost + q, count);
            if (least >= best.cost) continue;
            int64_t k = 0;
            while (from->cost[p + k] + to->cost[q + k] != least) k++;
            best = (Best){least, p + k, q + k};
        }
    return best;
}

/* Columns of this many positions stay in the processor's cache while all rows pass. */
enum { BLOCK = 32 };

/* Fill the tables (positions of `from`, positions of `to`) with the cheapest ways. */
void combine(const Labels *from, const Labels *to, int32_t *cost, int32_t *time, int32_t *length) {
    for (int64_t begin = 0; begin < to->positions; begin += BLOCK) {
        int64_t end = begin + BLOCK < to->positions ? begin + BLOCK : to->positions;
        for (int64_t row = 0; row < from->positions; row++)
            for (int64_t column = begin; column < end; column++) {
                Best best = combine_cell(from, row, to, column);
                int64_t cell = row * to->positions + column;
                cost[cell] = best.cost < FARTHEST ? best.cost : NO_WAY;
                time[cell] = length[cell] = 0;
                if (best.cost < FARTHEST) {
                    time[cell] = from->time[best.from] + to->time[best.to];
                    length[cell] = from->length[best.from] + to->length[best.to];
                }
            }
    }
}
