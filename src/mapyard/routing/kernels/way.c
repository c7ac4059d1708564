/* One way at a time: climb from both ends to where they meet, and unpack what lies between. */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>

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

/* Write the vertices of the cheapest way between the begins of two climbs. Returns 0, or -1 without
   memory. */
static int unpack_climbs(Unpacking *u, const Hierarchy *h, const Climb *a, const Climb *b, int32_t top) {
    int32_t from = a->vertex[a->end];
    if (u->count < u->room) u->way[u->count] = from;
    u->count++;
    if (top == -2) return unpack(u, h, (Part){from, from, h->round_middle[from]});
    int64_t *ups = malloc(((size_t)a->end + 1) * sizeof(int64_t));
    if (!ups) return -1;
    /* Upward the shortcuts are known from the top; each was reached from a deeper vertex. */
    int64_t count = 0;
    int result = 0;
    for (int32_t depth = top; a->arc[depth] >= 0;) {
        ups[count++] = depth;
        int64_t arc = a->arc[depth];
        int32_t below = depth + 1;
        while (!(arc >= h->up_first[a->vertex[below]] && arc < h->up_first[a->vertex[below] + 1])) below++;
        depth = below;
    }
    int32_t v = from;
    while (count && !result) {
        int32_t depth = (int32_t)ups[--count];
        result = unpack(u, h, (Part){v, a->vertex[depth], h->up_middle[a->arc[depth]]});
        v = a->vertex[depth];
    }
    free(ups);
    for (int32_t depth = top; b->arc[depth] >= 0 && !result;) {
        int64_t arc = b->arc[depth];
        int32_t below = depth + 1;
        while (!(arc >= h->down_first[b->vertex[below]] && arc < h->down_first[b->vertex[below] + 1])) below++;
        result = unpack(u, h, (Part){b->vertex[depth], b->vertex[below], h->down_middle[arc]});
        depth = below;
    }
    return result;
}

/* Write the vertices of the cheapest way, `from` and `to` among them, as far as there is room.
   Returns their number, 0 without a way, -1 without memory. */
int64_t unpack_way(const Hierarchy *h, int32_t from, int32_t to, int32_t *way, int64_t room) {
    Climb a = {0}, b = {0};
    Unpacking u = {way, 0, room, NULL, 0, 0};
    int64_t result = -1;
    if (!climb(&a, h, 1, from) && !climb(&b, h, 0, to)) {
        int32_t cost, top = meet(h, &a, &b, &cost);
        if (top == -1) result = 0;
        else if (!unpack_climbs(&u, h, &a, &b, top)) result = u.count;
    }
    free_climb(&a); free_climb(&b); free(u.stack);
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

/* ---- From the places of a position to those of another ---- */

/* What can be taken off by an end, so that a way is told from none. */
static const int32_t MOST_START = 0x0FFFFFFF;
/* At a crossing nobody sets out on a road that ends there, or arrives on one that begins there, not
   even where it costs nothing to turn from one to the other. */
static const double LAST_CHOICE = 1;

typedef struct {
    int64_t row;
    int32_t vertex, cost, time, length;
    Climb climb; /* without vertices until it is needed */
} End;

static End cut(const Network *n, const Sides *s, int64_t row, int32_t vertex, int is_origin) {
    int32_t edge = s->edge[row];
    double share = s->share[row], part = is_origin ? -share : share;
    /* The engine counts a cost of 1 per meter to the road. */
    double away = (double)n->cost_scale * s->away_m[row] + LAST_CHOICE * (share == (is_origin ? 1 : 0));
    return (End){row, vertex, (int32_t)rint(part * n->cost[edge] + away), (int32_t)rint(part * n->time[edge]),
                 (int32_t)rint(part * n->length[edge]), {0}};
}

/* Whether ways take an edge: not one without a speed. */
static int is_known(const Network *n, const Contracted *g, int32_t edge) {
    return edge >= 0 && g->begin[edge] >= 0 && n->cost[edge] < MOST_START;
}

/* The vertices that ways from, or to, places begin, or end, at. Returns how many, -1 without memory. */
static int64_t list_ends(const Network *n, const Contracted *g, const Sides *s, int is_origin, End **ends) {
    int64_t count = 0, used = 0;
    for (int64_t row = 0; row < s->count; row++)
        if (is_known(n, g, s->edge[row]))
            count += is_origin ? 1 : g->first_end[s->edge[row] + 1] - g->first_end[s->edge[row]];
    *ends = malloc(((size_t)count + 1) * sizeof(End));
    if (!*ends) return -1;
    for (int64_t row = 0; row < s->count; row++) {
        int32_t edge = s->edge[row];
        if (!is_known(n, g, edge)) continue;
        if (is_origin) (*ends)[used++] = cut(n, s, row, g->begin[edge], 1);
        else for (uint32_t k = g->first_end[edge]; k < g->first_end[edge + 1]; k++)
            (*ends)[used++] = cut(n, s, row, g->end[k], 0);
    }
    return used;
}

static int need_climb(End *end, const Hierarchy *h, int upward) {
    return end->climb.vertex ? 0 : climb(&end->climb, h, upward, end->vertex);
}

/* Find the cheapest way in one graph. Returns 1, 0 where there is none, -1 without memory. */
static int find_in(const Network *n, const Contracted *g, const Sides *from, const Sides *to, Found *found,
                   int32_t *vertex, int64_t room) {
    const Hierarchy *h = g->hierarchy;
    End *starts = NULL, *targets = NULL;
    int64_t start_count = list_ends(n, g, from, 1, &starts), target_count = list_ends(n, g, to, 0, &targets);
    int64_t best_i = -1, best_j = -1;
    int32_t best_top = -1, best_cost = NO_WAY;
    int result = start_count < 0 || target_count < 0 ? -1 : 0;
    for (int64_t i = 0; i < start_count && !result; i++)
        for (int64_t j = 0; j < target_count; j++) {
            End *start = &starts[i], *target = &targets[j];
            /* On the same edge one goes straight: no search, and no round. */
            int is_ahead = from->edge[start->row] == to->edge[target->row]
                           && to->share[target->row] >= from->share[start->row];
            int32_t cost = 0, top = -3;
            if (!is_ahead) {
                if (need_climb(start, h, 1) || need_climb(target, h, 0)) { result = -1; break; }
                top = meet(h, &start->climb, &target->climb, &cost);
                if (top == -1) continue;
            }
            cost += start->cost + target->cost;
            if (cost >= best_cost) continue;
            best_cost = cost;
            best_i = i;
            best_j = j;
            best_top = top;
        }
    if (!result && best_i >= 0) {
        End *start = &starts[best_i], *target = &targets[best_j];
        int64_t time = start->time + target->time, length = start->length + target->length;
        Unpacking u = {vertex, 0, room, NULL, 0, 0};
        if (best_top == -3) {
            if (room) vertex[0] = start->vertex;
            u.count = 1;
        } else if (best_top == -2) {
            time += h->round[start->vertex].time;
            length += h->round[start->vertex].length;
        } else {
            time += start->climb.time[best_top] + target->climb.time[best_top];
            length += start->climb.length[best_top] + target->climb.length[best_top];
        }
        if (best_top != -3 && unpack_climbs(&u, h, &start->climb, &target->climb, best_top)) result = -1;
        else {
            *found = (Found){best_cost, time > 0 ? (int32_t)time : 0, length > 0 ? (int32_t)length : 0,
                             (int32_t)start->row, (int32_t)target->row, 0, u.count};
            result = 1;
        }
        free(u.stack);
    }
    for (int64_t i = 0; i < start_count; i++) free_climb(&starts[i].climb);
    for (int64_t j = 0; j < target_count; j++) free_climb(&targets[j].climb);
    free(starts); free(targets);
    return result;
}

/* Whether a road of one position shares a crossing with one of the other. */
static int touch(const Network *n, const Sides *one, const Sides *other) {
    for (int64_t i = 0; i < one->count; i++)
        for (int64_t j = 0; j < other->count; j++) {
            int32_t a = one->edge[i], b = other->edge[j];
            if (a < 0 || b < 0) continue;
            if (n->start[a] == n->start[b] || n->start[a] == n->end[b] || n->end[a] == n->start[b]
                || n->end[a] == n->end[b])
                return 1;
        }
    return 0;
}

/* Find the cheapest way from a position, by its places on roads, to another. The rules for private
   roads and dead ends are left out where there is none by them, for modes that ask again, and where
   both ends are next to each other. Writes its vertices and edges as far as there is room. Returns 1,
   0 where there is no way, -1 without memory. */
int32_t find_way(const Network *n, const Sides *from, const Sides *to, Found *found, int32_t *vertex,
                 int32_t *edge, int64_t room) {
    int result = find_in(n, &n->strict, from, to, found, vertex, room);
    const Contracted *g = &n->strict;
    if (result < 0) return -1;
    if (result ? found->length > 0 && touch(n, from, to) : n->asks_again || touch(n, from, to)) {
        g = &n->relaxed;
        result = find_in(n, g, from, to, found, vertex, room);
        if (result > 0) found->is_relaxed = 1;
    }
    if (result > 0)
        for (int64_t i = 0; i < found->count && i < room; i++) edge[i] = g->edge[vertex[i]];
    return result;
}
