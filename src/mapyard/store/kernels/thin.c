#include "kernels.h"

#include <math.h>

/* Vertices of a ring whose segments are compared with each other one by one. */
enum { MOST_COMPARED = 16 };

typedef struct {
    int64_t x, y;
} Vertex;

static inline int64_t offset_at(const void *offsets, int64_t is_wide, int64_t index) {
    return is_wide ? ((const int64_t *)offsets)[index] : ((const uint32_t *)offsets)[index];
}

static inline int is_same(Vertex a, Vertex b) {
    return a.x == b.x && a.y == b.y;
}

/* Vertices in coarser units. */
static void scale(const Outlines *from, int64_t start, int64_t count, const int64_t *grid, Vertex *to) {
    int64_t half = ((int64_t)1 << grid[0]) >> 1;
    if (from->is_wide_xy) {
        const Vertex *xy = (const Vertex *)from->xy + start;
        for (int64_t i = 0; i < count; i++)
            to[i] = (Vertex){((xy[i].x + half) >> grid[0]) - grid[1], ((xy[i].y + half) >> grid[0]) - grid[2]};
        return;
    }
    const int32_t *xy = (const int32_t *)from->xy + 2 * start;
    for (int64_t i = 0; i < count; i++)
        to[i] = (Vertex){((xy[2 * i] + half) >> grid[0]) - grid[1], ((xy[2 * i + 1] + half) >> grid[0]) - grid[2]};
}

/* Twice the signed area of a ring; relative to its first vertex, so that it cannot overflow. */
static int64_t measure(const Vertex *ring, int64_t count) {
    int64_t twice = 0;
    for (int64_t i = 1; i + 1 < count; i++)
        twice += (ring[i].x - ring[0].x) * (ring[i + 1].y - ring[0].y) -
                 (ring[i + 1].x - ring[0].x) * (ring[i].y - ring[0].y);
    return twice;
}

static int64_t drop_line_repeats(Vertex *line, int64_t count) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (!kept || !is_same(line[i], line[kept - 1])) line[kept++] = line[i];
    return kept;
}

/* Repeats go first: next to one, a true corner would look straight. */
static int64_t drop_ring_repeats(Vertex *ring, int64_t count) {
    for (;;) {
        int64_t kept = 0;
        Vertex before = ring[count - 1];
        for (int64_t i = 0; i < count; i++) {
            Vertex here = ring[i];
            if (!is_same(here, before)) ring[kept++] = here;
            before = here;
        }
        if (kept < count) {
            if (!kept) return 0;
            count = kept;
            continue;
        }
        kept = 0;
        before = ring[count - 1];
        Vertex first = ring[0];
        for (int64_t i = 0; i < count; i++) {
            Vertex here = ring[i], after = i + 1 < count ? ring[i + 1] : first;
            if ((here.x - before.x) * (after.y - here.y) != (here.y - before.y) * (after.x - here.x))
                ring[kept++] = here;
            before = here;
        }
        if (kept == count || !kept) return kept;
        count = kept;
    }
}

int64_t thin_outlines(
    const Outlines *from, const int64_t *indexes, int64_t count, const int64_t *grid, int64_t is_closed,
    int64_t least, const Thinned *to) {
    Vertex *xy = (Vertex *)to->xy;
    int64_t vertices = 0, rings = 0, features = 0;
    to->rings[0] = to->features[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t feature = indexes[i];
        if (feature < 0 || feature >= from->feature_count) return -1;
        int64_t ring = offset_at(from->features, from->is_wide_features, feature);
        int64_t stop = offset_at(from->features, from->is_wide_features, feature + 1);
        if (ring < 0 || stop > from->ring_count) return -1;
        /* Whether the exterior ring that a hole follows, and lies in, is there. */
        int has_outer = 0;
        for (; ring < stop; ring++) {
            int64_t begin = offset_at(from->rings, from->is_wide_rings, ring);
            int64_t size = offset_at(from->rings, from->is_wide_rings, ring + 1) - begin;
            if (begin < 0 || size < 0 || begin + size > from->vertex_count) return -1;
            if (vertices + size > to->vertex_room || rings >= to->ring_room) return -1;
            Vertex *here = xy + vertices;
            scale(from, begin, size, grid, here);
            if (is_closed) {
                int64_t twice = measure(here, size);
                int is_big = twice >= least || -twice >= least;
                if (twice > 0) has_outer = is_big;
                if (!twice || !is_big || !has_outer) continue;
                size = drop_ring_repeats(here, size);
            } else {
                size = drop_line_repeats(here, size);
                if (size < 2) continue;
            }
            vertices += size;
            to->rings[++rings] = vertices;
        }
        if (rings == to->features[features]) continue;
        to->left[features] = i;
        to->features[++features] = rings;
    }
    return features;
}

static double measure_distance(Vertex a, Vertex b) {
    double x = (double)(a.x - b.x), y = (double)(a.y - b.y);
    return sqrt(x * x + y * y);
}

/* As GEOS computes it, to the last bit: which of two vertices is farther decides what is left. */
static double measure_offset(Vertex point, Vertex a, Vertex b) {
    if (is_same(a, b)) return measure_distance(point, a);
    double x = (double)(b.x - a.x), y = (double)(b.y - a.y);
    double px = (double)(point.x - a.x), py = (double)(point.y - a.y);
    double square = x * x + y * y, along = (px * x + py * y) / square;
    if (along <= 0) return measure_distance(point, a);
    if (along >= 1) return measure_distance(point, b);
    return fabs((px * y - py * x) / square) * sqrt(square);
}

/* Douglas and Peucker, from the first vertex around to it again; then that one may go as well. */
static int64_t simplify_ring(
    const Vertex *ring, int64_t count, double tolerance, int64_t *ends, Vertex *to) {
    int64_t kept = 0, start = 0, depth = 1;
    ends[0] = count;
    to[kept++] = ring[0];
    while (depth) {
        int64_t end = ends[depth - 1], farthest = start;
        Vertex last = ring[end < count ? end : 0];
        double most = -1;
        for (int64_t i = start + 1; i < end; i++) {
            double offset = measure_offset(ring[i], ring[start], last);
            if (offset > most) most = offset, farthest = i;
        }
        if (most > tolerance) {
            ends[depth++] = farthest;
            continue;
        }
        if (end < count) to[kept++] = last;
        start = end;
        depth--;
    }
    if (kept < 3 || measure_offset(to[0], to[1], to[kept - 1]) > tolerance) return kept;
    for (int64_t i = 1; i < kept; i++) to[i - 1] = to[i];
    return kept - 1;
}

static inline int64_t turn(Vertex a, Vertex b, Vertex c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Whether two segments lie on either side of a line that one of them is on: then they do not touch. */
static inline int is_apart(Vertex a, Vertex b, Vertex c, Vertex d) {
    int64_t from = turn(a, b, c), to = turn(a, b, d);
    if ((from > 0 && to > 0) || (from < 0 && to < 0)) return 1;
    from = turn(c, d, a), to = turn(c, d, b);
    return (from > 0 && to > 0) || (from < 0 && to < 0);
}

/* Whether a ring surely does not touch itself; few vertices, as all pairs of segments are looked at. */
static int is_simple(const Vertex *ring, int64_t count) {
    if (count < 3 || count > MOST_COMPARED) return 0;
    for (int64_t i = 0; i < count; i++) {
        Vertex a = ring[i], b = ring[(i + 1) % count];
        if (!turn(a, b, ring[(i + 2) % count])) return 0;
        for (int64_t j = i + 2; j < count - !i; j++)
            if (!is_apart(a, b, ring[j], ring[(j + 1) % count])) return 0;
    }
    return 1;
}

int64_t simplify_polygons(
    const Outlines *from, double tolerance, int64_t *ends, int64_t end_room, int64_t *xy, int64_t *rings,
    int64_t *features, uint8_t *is_doubtful, uint8_t *is_sure) {
    if (!from->is_wide_xy || !from->is_wide_rings || !from->is_wide_features) return -1;
    const int64_t *old_rings = from->rings, *old_features = from->features;
    const Vertex *vertices = from->xy;
    Vertex *to = (Vertex *)xy;
    int64_t written = 0, ring = 0;
    rings[0] = features[0] = 0;
    for (int64_t feature = 0, old = 0; feature < from->feature_count; feature++) {
        int64_t stop = old_features[feature + 1], most = 0;
        if (old_features[feature] != old || stop < old || stop > from->ring_count) return -1;
        for (int64_t i = old; i < stop; i++) {
            int64_t size = old_rings[i + 1] - old_rings[i];
            if (old_rings[i] < 0 || size < 0 || old_rings[i + 1] > from->vertex_count) return -1;
            if (old_rings[i] < written) return -1; /* there is room for as many as there were */
            if (size > most) most = size;
        }
        if (most > end_room) return -1;
        int64_t first = ring, has_outer = 0;
        is_doubtful[feature] = 0;
        for (; old < stop; old++) {
            const Vertex *here = vertices + old_rings[old];
            int64_t size = old_rings[old + 1] - old_rings[old], kept = size;
            int64_t before = measure(here, size);
            if (most > 3 && size) {
                kept = simplify_ring(here, size, tolerance, ends, to + written);
            } else {
                for (int64_t i = 0; i < size; i++) to[written + i] = here[i];
            }
            if (before > 0) has_outer = kept >= 3;
            if (kept < 3 && before) continue;
            int64_t after = measure(to + written, kept);
            if (!has_outer || !((before > 0 && after > 0) || (before < 0 && after < 0))) is_doubtful[feature] = 1;
            written += kept;
            rings[++ring] = written;
        }
        if (is_doubtful[feature]) {
            ring = first;
            written = rings[ring];
        }
        features[feature + 1] = ring;
        is_sure[feature] = ring == first + 1 && is_simple(to + rings[first], written - rings[first]);
    }
    return written;
}

int64_t gather_outlines(const Outlines *from, const int64_t *indexes, int64_t count, const Thinned *to) {
    int64_t vertices = 0, rings = 0;
    to->rings[0] = to->features[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t feature = indexes[i];
        if (feature < 0 || feature >= from->feature_count) return -1;
        int64_t ring = offset_at(from->features, from->is_wide_features, feature);
        int64_t stop = offset_at(from->features, from->is_wide_features, feature + 1);
        if (ring < 0 || stop > from->ring_count || stop - ring > to->ring_room - rings) return -1;
        for (; ring < stop; ring++) {
            int64_t begin = offset_at(from->rings, from->is_wide_rings, ring);
            int64_t size = offset_at(from->rings, from->is_wide_rings, ring + 1) - begin;
            if (begin < 0 || size < 0 || size > from->vertex_count - begin) return -1;
            if (size > to->vertex_room - vertices) return -1;
            scale(from, begin, size, (const int64_t[]){0, 0, 0}, (Vertex *)to->xy + vertices);
            vertices += size;
            to->rings[++rings] = vertices;
        }
        to->features[i + 1] = rings;
    }
    return vertices;
}
