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

/* ---- One way at a time ---- */

typedef struct {
    int32_t *vertex, *cost, *time, *length;
    int64_t *arc; /* by which each was reached, -1 at the begin */
    int32_t end;
} Climb;

static void free_climb(Climb *c) {
    free(c->vertex); free(c->cost); free(c->time); free(c->length); free(c->arc);
}

static int climb(Climb *c, const Hierarchy *h, int upward, int32_t start) {
    const uint32_t *first = upward ? h->up_first : h->down_first;
    const Arc *arcs = upward ? h->up : h->down;
    int32_t end = h->depth[start];
    size_t size = ((size_t)end + 1) * sizeof(int32_t);
    *c = (Climb){malloc(size), malloc(size), malloc(size), malloc(size), malloc(2 * size), end};
    if (!(c->vertex && c->cost && c->time && c->length && c->arc)) return -1;
    int32_t v = start;
    for (int32_t depth = end; depth >= 0; depth--, v = h->parent[v]) {
        c->vertex[depth] = v;
        c->cost[depth] = NO_WAY;
    }
    c->cost[end] = c->time[end] = c->length[end] = 0;
    c->arc[end] = -1;
    for (int32_t depth = end; depth >= 0; depth--) {
        if (c->cost[depth] >= NO_WAY) continue;
        v = c->vertex[depth];
        for (uint32_t a = first[v]; a < first[v + 1]; a++) {
            int32_t k = arcs[a].depth, cost = c->cost[depth] + arcs[a].cost;
            if (cost < c->cost[k]) {
                c->cost[k] = cost;
                c->time[k] = c->time[depth] + arcs[a].time;
                c->length[k] = c->length[depth] + arcs[a].length;
                c->arc[k] = a;
            }
        }
    }
    return 0;
}

/* Depth of the vertex that the cheapest way between two goes over, -1 without a way, -2 for the
   round of a vertex over lower ones. The way from a vertex to itself is a round, not nothing. */
static int32_t meet(const Hierarchy *h, const Climb *a, const Climb *b, int32_t *cost) {
    int32_t common = a->end < b->end ? a->end : b->end, best = -1;
    int is_round = a->vertex[a->end] == b->vertex[b->end];
    *cost = NO_WAY;
    if (is_round) {
        if (h->round[a->vertex[a->end]].cost < NO_WAY) {
            *cost = h->round[a->vertex[a->end]].cost;
            best = -2;
        }
        common--;
    }
    for (int32_t depth = 0; depth <= common && a->vertex[depth] == b->vertex[depth]; depth++)
        if (a->cost[depth] + b->cost[depth] < *cost) {
            *cost = a->cost[depth] + b->cost[depth];
            best = depth;
        }
    return best;
}

/* Measure the cheapest ways between pairs of vertices; NO_WAY is the cost where there is none.
   Returns 0, or -1 without memory. */
int32_t find_ways(const Hierarchy *h, int64_t pairs, const int32_t *from, const int32_t *to,
                  int32_t *cost, int32_t *time, int32_t *length) {
    int32_t result = 0;
    for (int64_t i = 0; i < pairs && !result; i++) {
        Climb a = {0}, b = {0};
        time[i] = length[i] = 0;
        if (climb(&a, h, 1, from[i]) || climb(&b, h, 0, to[i])) result = -1;
        else {
            int32_t depth = meet(h, &a, &b, &cost[i]);
            if (depth == -2) {
                time[i] = h->round[from[i]].time;
                length[i] = h->round[from[i]].length;
            } else if (depth >= 0) {
                time[i] = a.time[depth] + b.time[depth];
                length[i] = a.length[depth] + b.length[depth];
            }
        }
        free_climb(&a);
        free_climb(&b);
    }
    return result;
}

static int64_t find_arc(const uint32_t *first, const Arc *arcs, int32_t v, int32_t depth) {
    uint32_t low = first[v], high = first[v + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arcs[middle].depth > depth) low = middle + 1;
        else high = middle;
    }
    return low;
}

typedef struct {
    int32_t from, to, middle; /* the middle of the shortcut between them, -1: an arc */
} Part;

typedef struct {
    int32_t *way;
    int64_t count, room;
    Part *stack;
    int64_t depth, stack_room;
} Unpacking;

static int push(Unpacking *u, Part part) {
    if (u->depth == u->stack_room) {
        u->stack_room = 2 * u->stack_room + 64;
        Part *grown = realloc(u->stack, (size_t)u->stack_room * sizeof(Part));
        if (!grown) return -1;
        u->stack = grown;
    }
    u->stack[u->depth++] = part;
    return 0;
}

/* Write all vertices after `from`, up to and with `to`. */
static int unpack(Unpacking *u, const Hierarchy *h, Part whole) {
    if (push(u, whole)) return -1;
    while (u->depth) {
        Part part = u->stack[--u->depth];
        if (part.middle < 0) {
            if (u->count < u->room) u->way[u->count] = part.to;
            u->count++;
            continue;
        }
        int32_t m = part.middle;
        int64_t down = find_arc(h->down_first, h->down, m, h->depth[part.from]);
        int64_t up = find_arc(h->up_first, h->up, m, h->depth[part.to]);
        if (push(u, (Part){m, part.to, h->up_middle[up]})
            || push(u, (Part){part.from, m, h->down_middle[down]}))
            return -1;
    }
    return 0;
}

/* Write the vertices of the cheapest way, `from` and `to` among them, as far as there is room.
   Returns their number, 0 without a way, -1 without memory. */
int64_t unpack_way(const Hierarchy *h, int32_t from, int32_t to, int32_t *way, int64_t room) {
    Climb a = {0}, b = {0};
    Unpacking u = {way, 0, room, NULL, 0, 0};
    int64_t result = -1;
    int64_t *ups = NULL;
    if (climb(&a, h, 1, from) || climb(&b, h, 0, to)) goto done;
    int32_t cost, top = meet(h, &a, &b, &cost);
    if (top == -1) { result = 0; goto done; }
    if (u.count < room) way[u.count] = from;
    u.count++;
    if (top == -2) {
        if (unpack(&u, h, (Part){from, from, h->round_middle[from]})) goto done;
        result = u.count;
        goto done;
    }
    ups = malloc(((size_t)a.end + 1) * sizeof(int64_t));
    if (!ups) goto done;
    /* Upward the shortcuts are known from the top; each was reached from a deeper vertex. */
    int64_t count = 0;
    for (int32_t depth = top; a.arc[depth] >= 0;) {
        ups[count++] = depth;
        int64_t arc = a.arc[depth];
        int32_t below = depth + 1;
        while (!(arc >= h->up_first[a.vertex[below]] && arc < h->up_first[a.vertex[below] + 1])) below++;
        depth = below;
    }
    int32_t v = from;
    while (count) {
        int32_t depth = (int32_t)ups[--count];
        if (unpack(&u, h, (Part){v, a.vertex[depth], h->up_middle[a.arc[depth]]})) goto done;
        v = a.vertex[depth];
    }
    for (int32_t depth = top; b.arc[depth] >= 0;) {
        int64_t arc = b.arc[depth];
        int32_t below = depth + 1;
        while (!(arc >= h->down_first[b.vertex[below]] && arc < h->down_first[b.vertex[below] + 1])) below++;
        if (unpack(&u, h, (Part){b.vertex[depth], b.vertex[below], h->down_middle[arc]})) goto done;
        depth = below;
    }
    result = u.count;
done:
    free_climb(&a); free_climb(&b); free(ups); free(u.stack);
    return result;
}

/* Write what each step of a way takes, from a vertex to the next: the arcs that it was unpacked to. */
void measure_way(const Hierarchy *h, int64_t count, const int32_t *way, int32_t *cost, int32_t *time) {
    for (int64_t i = 0; i + 1 < count; i++) {
        int32_t from = way[i], to = way[i + 1];
        Arc arc = h->round[from];
        if (from < to) {
            int64_t at = find_arc(h->up_first, h->up, from, h->depth[to]);
            arc = at < h->up_first[from + 1] ? h->up[at] : (Arc){0};
        } else if (from > to) {
            int64_t at = find_arc(h->down_first, h->down, to, h->depth[from]);
            arc = at < h->down_first[to + 1] ? h->down[at] : (Arc){0};
        }
        cost[i] = arc.cost;
        time[i] = arc.time;
    }
}
