/* Positions onto roads: the nearest place of the nearest road, as the engine's own search finds it.

   The engine projects onto segments in degrees, with longitudes shortened as they are at the
   position, and measures lengths on a sphere. */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FANOUT = 16, MOST_LEVELS = 9 };

static const double UNIT_DEG = 1e-6;
static const double RADIANS = 3.14159265358979323846 / 180.0;
/* The engine's: on its sphere, and where it only tells what is near. */
static const double METERS_PER_DEGREE = 6378160.187 * 3.14159265358979323846 / 180.0;
static const double NODE_M = 1.0;

/* ---- Shapes out of the engine's records ---- */

enum { RECORD_BYTES = 12, TEXT_BYTES = 4 };

/* Read one number of 7 bits a byte, its sign in the lowest one; return where it ends, 0 at the end. */
static int64_t read_number(const uint8_t *data, int64_t at, int64_t end, int32_t *number) {
    uint32_t value = 0;
    for (int shift = 0; at < end && shift < 35; shift += 7) {
        uint8_t byte = data[at++];
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) {
            *number = value & 1 ? (int32_t) ~(value >> 1) : (int32_t)(value >> 1);
            return at;
        }
    }
    return 0;
}

/* Decode the shapes of records: their numbers of points, summed up in `first` (count + 1), and, where
   `point` is not NULL, the points. Returns 0, or -1 where a record does not lie in the data. */
int32_t decode_shapes(const uint8_t *data, int64_t size, int64_t count, const int64_t *record,
                      uint32_t *first, int32_t *point) {
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        first[i] = (uint32_t)used;
        int64_t at = record[i];
        if (at < 0 || at + RECORD_BYTES > size) return -1;
        uint32_t word;
        memcpy(&word, data + at + 8, sizeof word);
        int64_t texts = word & 15, bytes = word >> 4 & 0xFFFF;
        at += RECORD_BYTES + TEXT_BYTES * texts;
        int64_t end = at + bytes;
        if (end > size) return -1;
        uint32_t lat = 0, lon = 0;
        while (at < end) {
            int32_t step_lat = 0, step_lon = 0;
            at = read_number(data, at, end, &step_lat);
            if (!at || !(at = read_number(data, at, end, &step_lon))) return -1;
            lat += (uint32_t)step_lat;
            lon += (uint32_t)step_lon;
            if (point) {
                point[2 * used] = (int32_t)lon;
                point[2 * used + 1] = (int32_t)lat;
            }
            used++;
        }
        if (used > UINT32_MAX) return -1;
    }
    first[count] = (uint32_t)used;
    return 0;
}

/* ---- The nearest road ---- */

typedef struct {
    double lon, lat; /* millionths of a degree */
    double width;    /* of a degree of longitude, as part of one of latitude */
} Position;

static double to_box(const Position *p, const int32_t *box) {
    double x = p->lon < box[0] ? box[0] - p->lon : p->lon > box[2] ? p->lon - box[2] : 0;
    double y = p->lat < box[1] ? box[1] - p->lat : p->lat > box[3] ? p->lat - box[3] : 0;
    x *= p->width;
    return x * x + y * y;
}

/* Of roads as near as each other, such as ways along the same points, the engine takes the one with
   the lowest edge; as near is to this many millionths of a degree. */
static const double TIE = 1e-5;

typedef struct {
    double distance; /* squared, in millionths of a degree of latitude */
    double most;     /* the same for what is as near */
    int32_t edge;
    int64_t road;
    uint32_t segment;
    double lon, lat;
} Nearest;

static void try_road(const Roads *r, const Position *p, int64_t road, Nearest *best) {
    int32_t along = r->edge[2 * road], back = r->edge[2 * road + 1], edge = along < back ? along : back;
    for (uint32_t k = r->first[road]; k + 1 < r->first[road + 1]; k++) {
        double ax = r->point[2 * k], ay = r->point[2 * k + 1];
        double bx = r->point[2 * k + 2] - ax, by = r->point[2 * k + 3] - ay;
        double wide = bx * p->width, length = wide * wide + by * by, share = 0;
        if (length > 0) share = ((p->lon - ax) * p->width * wide + (p->lat - ay) * by) / length;
        double lon = share <= 0 ? ax : share >= 1 ? ax + bx : ax + share * bx;
        double lat = share <= 0 ? ay : share >= 1 ? ay + by : ay + share * by;
        double x = (lon - p->lon) * p->width, y = lat - p->lat, distance = x * x + y * y;
        if (distance >= best->most) continue;
        double tie = 2 * sqrt(distance) * TIE + TIE * TIE;
        if (distance < best->distance - tie || edge < best->edge || (edge == best->edge && distance < best->distance))
            *best = (Nearest){distance, distance + tie, edge, road, k, lon, lat};
    }
}

static double measure(double lon, double lat, double other_lon, double other_lat) {
    double x = (other_lon - lon) * cos(0.5 * (lat + other_lat) * UNIT_DEG * RADIANS);
    double y = other_lat - lat;
    return sqrt(x * x + y * y) * UNIT_DEG * METERS_PER_DEGREE;
}

typedef struct {
    double distance;
    int32_t level;
    int64_t index;
} Waiting;

/* The levels of the tree: where each begins, and how many boxes it has. */
typedef struct {
    int64_t first[MOST_LEVELS + 1], count[MOST_LEVELS + 1];
    int32_t number;
} Levels;

static int find_levels(const Roads *r, Levels *l) {
    *l = (Levels){{0}, {r->count}, 1};
    for (int64_t size = r->count, first = 0; size > FANOUT;) {
        size = (size + FANOUT - 1) / FANOUT;
        if (l->number > MOST_LEVELS) return -1;
        l->first[l->number] = first;
        l->count[l->number++] = size;
        first += size;
    }
    return 0;
}

/* The nearest roads found so far, nearest first, each by its nearest place; no more than there is
   room for. */
typedef struct {
    Nearest *found;
    int64_t count, room;
} Several;

static void keep_road(const Roads *r, const Position *p, int64_t road, Nearest *best, Several *s) {
    Nearest its = {best->most, best->most, INT32_MAX, -1, 0, 0, 0};
    try_road(r, p, road, &its);
    if (its.road < 0) return;
    int64_t i = s->count < s->room ? s->count++ : s->room - 1;
    for (; i > 0 && (s->found[i - 1].distance > its.distance
                     || (s->found[i - 1].distance == its.distance && s->found[i - 1].edge > its.edge)); i--)
        s->found[i] = s->found[i - 1];
    s->found[i] = its;
    if (s->count == s->room) best->most = s->found[s->room - 1].distance;
}

/* Find the nearest road, or as many of the nearest as there is room for in `several`. */
static void find_nearest(const Roads *r, const Levels *l, const Position *p, uint8_t modes,
                         Nearest *best, Several *several) {
    /* Of each level no more than one node's children wait. */
    Waiting waiting[(MOST_LEVELS + 1) * FANOUT + 1];
    const int64_t *level_first = l->first, *level_count = l->count;
    int32_t depth = 0;
    waiting[depth++] = (Waiting){0, l->number, 0};
    while (depth) {
        Waiting node = waiting[--depth];
        if (node.distance >= best->most) continue;
        int32_t level = node.level - 1;
        if (level < 0) {
            if (several) keep_road(r, p, node.index, best, several);
            else try_road(r, p, node.index, best);
            continue;
        }
        /* The children, the nearest one last, so that it is looked at first. */
        int32_t begin = depth;
        int64_t last = (node.index + 1) * FANOUT;
        if (last > level_count[level]) last = level_count[level];
        for (int64_t i = node.index * FANOUT; i < last; i++) {
            int64_t at = level_first[level] + i;
            uint8_t of = level ? r->upper_modes[at] : r->modes[at];
            if (!(of & modes)) continue;
            double distance = to_box(p, (level ? r->upper_box : r->box) + 4 * at);
            if (distance >= best->most) continue;
            int32_t k = depth++;
            for (; k > begin && waiting[k - 1].distance < distance; k--) waiting[k] = waiting[k - 1];
            waiting[k] = (Waiting){distance, level, i};
        }
    }
}

static Position find_position(double lon, double lat) {
    return (Position){lon / UNIT_DEG, lat / UNIT_DEG, cos(lat * RADIANS)};
}

static Nearest begin(double radius_m) {
    double radius = radius_m / METERS_PER_DEGREE / UNIT_DEG, most = radius * radius * (1 + 1e-9);
    return (Nearest){most, most, INT32_MAX, -1, 0, 0, 0};
}

/* Find the roads nearest to a place that one of the modes may use, at most so far away, nearest
   first: their numbers, and each one's nearest place. Returns how many, as many as there is room for,
   or -1 without memory or if there are more roads than it can search. */
int64_t find_near(const Roads *r, double lon, double lat, uint8_t modes, double radius_m, int32_t *road,
                  double *at, int64_t room) {
    Levels levels;
    Several several = {malloc(((size_t)room + 1) * sizeof(Nearest)), 0, room};
    if (!several.found || find_levels(r, &levels)) {
        free(several.found);
        return -1;
    }
    Position p = find_position(lon, lat);
    Nearest best = begin(radius_m);
    if (r->count && room > 0) find_nearest(r, &levels, &p, modes, &best, &several);
    for (int64_t i = 0; i < several.count; i++) {
        road[i] = (int32_t)several.found[i].road;
        at[2 * i] = several.found[i].lon * UNIT_DEG;
        at[2 * i + 1] = several.found[i].lat * UNIT_DEG;
    }
    free(several.found);
    return several.count;
}

/* Beyond these latitudes there are no roads, and the engine's distances break down. */
static const double MOST_LAT = 89.9;

typedef struct {
    int64_t road; /* -1: none */
    double away_m, along_m, lon, lat;
    int end; /* the place is the road's begin (1) or end (2) */
} Snapped;

static Snapped snap_one(const Roads *r, const Levels *l, double lon, double lat, uint8_t modes, double radius_m) {
    Position p = find_position(lon, lat);
    Nearest best = begin(radius_m);
    if (r->count && fabs(lat) <= MOST_LAT) find_nearest(r, l, &p, modes, &best, NULL);
    Snapped s = {best.road, 0, 0, 0, 0, 0};
    if (best.road < 0) return s;
    const int32_t *points = r->point;
    uint32_t first = r->first[best.road], last = r->first[best.road + 1] - 1;
    for (uint32_t k = first; k < best.segment; k++)
        s.along_m += measure(points[2 * k], points[2 * k + 1], points[2 * k + 2], points[2 * k + 3]);
    s.along_m += measure(points[2 * best.segment], points[2 * best.segment + 1], best.lon, best.lat);
    s.away_m = measure(p.lon, p.lat, best.lon, best.lat);
    s.lon = best.lon * UNIT_DEG;
    s.lat = best.lat * UNIT_DEG;
    /* On a road shorter than that, the begin of its lowest edge goes first. */
    int turned = r->edge[2 * best.road] > r->edge[2 * best.road + 1];
    for (int k = 0; k < 2 && !s.end; k++) {
        int is_last = k != turned;
        const int32_t *tip = points + 2 * (is_last ? last : first);
        if ((best.lon == tip[0] && best.lat == tip[1]) || measure(p.lon, p.lat, tip[0], tip[1]) < NODE_M)
            s.end = is_last ? 2 : 1;
        if (s.end) {
            s.lon = tip[0] * UNIT_DEG;
            s.lat = tip[1] * UNIT_DEG;
        }
    }
    return s;
}

/* Find the nearest road that one of the modes may use, at most so far away: its number or -1, metres
   from the position and along the road, whether the place is the road's begin (1) or end (2), and
   where it is (longitude and latitude in degrees). Returns 0, or -1 if there are more roads than it can
   search. */
int32_t snap(const Roads *r, int64_t count, const double *lon, const double *lat, uint8_t modes,
             double radius_m, int32_t *road, double *away_m, double *along_m, double *at,
             uint8_t *end) {
    Levels levels;
    if (find_levels(r, &levels)) return -1;
    for (int64_t i = 0; i < count; i++) {
        Snapped s = snap_one(r, &levels, lon[i], lat[i], modes, radius_m);
        road[i] = (int32_t)s.road;
        away_m[i] = s.away_m;
        along_m[i] = s.along_m;
        at[2 * i] = s.lon;
        at[2 * i + 1] = s.lat;
        end[i] = (uint8_t)s.end;
    }
    return 0;
}

/* Find the places of positions (longitude, latitude): those on the nearest road, along it and back on
   it, or the begins and ends of all edges of a crossing. `of` gets the position of each, `at` where it
   is. Returns how many there are, of which as many are written as there is room for, or -1 if there
   are more roads than it can search. */
int64_t find_places(const Roads *r, int64_t count, const double *position, uint8_t modes, double radius_m,
                    int64_t *of, int32_t *edge, double *share, double *away_m, double *at, int64_t room) {
    Levels levels;
    int64_t used = 0;
    if (find_levels(r, &levels)) return -1;
    for (int64_t i = 0; i < count; i++) {
        Snapped s = snap_one(r, &levels, position[2 * i], position[2 * i + 1], modes, radius_m);
        if (s.road < 0) continue;
        int32_t along = r->edge[2 * s.road];
        int32_t crossing = s.end == 1 ? r->start[along] : r->end[along];
        uint32_t first = s.end ? r->first_out[crossing] : 0, last = s.end ? r->first_out[crossing + 1] : 1;
        double length_m = r->length[along] / 100.0, part = 0;
        if (!s.end && length_m > 0) part = (s.along_m < length_m ? s.along_m : length_m) / length_m;
        for (uint32_t k = first; k < last; k++)
            for (int is_back = 0; is_back < 2; is_back++) {
                int32_t one = s.end ? r->out[k] : along, this = one;
                if (is_back) this = s.end ? r->opposing[one] : r->edge[2 * s.road + 1];
                if (!(r->edge_modes[this] & modes)) continue;
                if (used < room) {
                    of[used] = i;
                    edge[used] = this;
                    share[used] = s.end ? is_back : is_back ? 1 - part : part;
                    away_m[used] = s.away_m;
                    at[2 * used] = s.lon;
                    at[2 * used + 1] = s.lat;
                }
                used++;
            }
    }
    return used;
}

/* ---- The line along roads ---- */

/* Points of a line as near to its end are the end. */
static const double SAME_M = 0.05;

typedef struct {
    int64_t at, step, count;
} Shape;

static Shape find_shape(const Roads *r, int32_t code) {
    int64_t road = code >> 1, first = r->first[road], count = r->first[road + 1] - first;
    return code & 1 ? (Shape){first + count - 1, -1, count} : (Shape){first, 1, count};
}

static double measure_shape(const Roads *r, Shape shape, int64_t points) {
    double along_m = 0;
    for (int64_t k = 0; k + 1 < points; k++) {
        const int32_t *p = r->point + 2 * (shape.at + k * shape.step), *q = p + 2 * shape.step;
        along_m += measure(p[0], p[1], q[0], q[1]);
    }
    return along_m;
}

static double round_place(double degrees) { return rint(degrees * 1e6) / 1e6; }

/* Write the line along edges, from a share of the first to a share of the last, whose places in degrees
   are given; a place at an edge's end is that end. `last` gets the point at which each edge is left,
   `kinds` what any of them is of. Returns how many points it has, of which as many are written as
   there is room for, or -1 where an edge has no road. */
int64_t join_line(const Roads *r, int64_t count, const int32_t *edge, const double *share,
                  const double *at, double *line, int64_t *last, int64_t room, int32_t *kinds) {
    double place_m[2], tip[4] = {at[0], at[1], at[2], at[3]};
    *kinds = 0;
    for (int64_t i = 0; i < count; i++) {
        if (r->road[edge[i]] < 0) return -1;
        *kinds |= r->kinds[edge[i]];
    }
    for (int side = 0; side < 2; side++) {
        int32_t of = edge[side ? count - 1 : 0];
        Shape shape = find_shape(r, r->road[of]);
        double whole_m = measure_shape(r, shape, shape.count), length_m = r->length[of] / 100.0;
        place_m[side] = share[side] >= 1 || share[side] * length_m > whole_m ? whole_m : share[side] * length_m;
        if (share[side] <= 0 || share[side] >= 1) {
            const int32_t *p = r->point + 2 * (shape.at + (share[side] > 0 ? shape.count - 1 : 0) * shape.step);
            tip[2 * side] = p[0] * UNIT_DEG;
            tip[2 * side + 1] = p[1] * UNIT_DEG;
        }
    }
    int64_t used = 0;
    for (int64_t i = -1; i <= count; i++) {
        if (i < 0 || i == count) {
            if (used < room) {
                line[2 * used] = round_place(tip[i < 0 ? 0 : 2]);
                line[2 * used + 1] = round_place(tip[i < 0 ? 1 : 3]);
            }
            used++;
            continue;
        }
        Shape shape = find_shape(r, r->road[edge[i]]);
        double along_m = 0;
        for (int64_t k = 0; k < shape.count; k++) {
            const int32_t *p = r->point + 2 * (shape.at + k * shape.step);
            if (k && (i == 0 || i == count - 1)) {
                const int32_t *q = p - 2 * shape.step;
                along_m += measure(q[0], q[1], p[0], p[1]);
            }
            if (k == 0 && i > 0) continue; /* roads share their ends */
            if (i == 0 && along_m <= place_m[0] + SAME_M) continue;
            if (i == count - 1 && along_m >= place_m[1] - SAME_M) continue;
            if (used < room) {
                line[2 * used] = p[0] / 1e6;
                line[2 * used + 1] = p[1] / 1e6;
            }
            used++;
        }
        last[i] = used - (i < count - 1);
    }
    return used;
}

/* ---- Its text ---- */

static uint8_t *write_number(uint8_t *text, int64_t number) {
    uint64_t rest = number < 0 ? ~((uint64_t)number << 1) : (uint64_t)number << 1;
    for (; rest >= 0x20; rest >>= 5) *text++ = (uint8_t)((0x20 | (rest & 0x1F)) + 63);
    *text++ = (uint8_t)(rest + 63);
    return text;
}

/* Write positions (longitude, latitude) as an encoded polyline, each number in units of 1 / factor. A
   number takes 13 bytes at most. Returns how many bytes were written. */
int64_t encode_line(int64_t count, int64_t stride, const double *position, double factor, uint8_t *text) {
    uint8_t *at = text;
    int64_t before[2] = {0, 0};
    for (int64_t i = 0; i < count; i++)
        for (int axis = 1; axis >= 0; axis--) {
            int64_t number = (int64_t)rint(position[i * stride + axis] * factor);
            at = write_number(at, number - before[axis]);
            before[axis] = number;
        }
    return at - text;
}
