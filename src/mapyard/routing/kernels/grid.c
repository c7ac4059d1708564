/* Areas out of what is reached: values along roads into the cells of a grid, and the lines around the
   cells under a limit. */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roads lie anywhere in memory: how many of them are fetched ahead. */
enum { AHEAD = 8 };
#if defined(__GNUC__)
#define PREFETCH(where) __builtin_prefetch(where)
#else
#define PREFETCH(where) ((void)0)
#endif

static const double UNIT_DEG = 1e-6;
static const double RADIANS = 3.14159265358979323846 / 180.0;
static const double METERS_PER_DEGREE = 6378160.187 * 3.14159265358979323846 / 180.0;

static double measure(double x, double y) { return sqrt(x * x + y * y); }

/* A road, `here` at (x, y), is taken to lead on to the middle of its cell. */
static inline void mark(const Grid *g, float *value, int64_t column, int64_t row, double x, double y, double here) {
    if (column < 0 || row < 0 || column >= g->columns || row >= g->rows) return;
    double across = (column + 0.5 - x) * g->wide, up = (row + 0.5 - y) * g->high;
    float *cell = value + row * g->columns + column, there = (float)(here + sqrt(across * across + up * up));
    if (there < *cell) *cell = there;
}

/* Mark the cells that a line crosses that is shorter than one, in units of cells; these begin at 0. */
static inline void mark_line(const Grid *g, float *value, double x, double y, double to_x, double to_y, double here) {
    double at_x = 0.5 * (x + to_x), at_y = 0.5 * (y + to_y);
    int64_t column = (int64_t)x, row = (int64_t)y, to_column = (int64_t)to_x, to_row = (int64_t)to_y;
    mark(g, value, column, row, at_x, at_y, here);
    if (column == to_column && row == to_row) return;
    mark(g, value, to_column, to_row, at_x, at_y, here);
    if (column == to_column || row == to_row) return;
    /* Over a corner: the third cell lies before or behind the vertical line between. */
    double edge = to_column > column ? to_column : column;
    double cross = y + (edge - x) * (to_y - y) / (to_x - x);
    if ((int64_t)cross == row) mark(g, value, to_column, row, at_x, at_y, here);
    else mark(g, value, column, to_row, at_x, at_y, here);
}

/* Widen a box to hold roads too (twice the number of each, and 1 more where it is taken back). */
void surround(const Roads *r, int64_t count, const int32_t *road, int32_t *box) {
    int32_t west = box[0], south = box[1], east = box[2], north = box[3];
    for (int64_t i = 0; i < count; i++) {
        const int32_t *of = r->box + 4 * (road[i] >> 1);
        if (i + AHEAD < count) PREFETCH(r->box + 4 * (road[i + AHEAD] >> 1));
        west = of[0] < west ? of[0] : west;
        south = of[1] < south ? of[1] : south;
        east = of[2] > east ? of[2] : east;
        north = of[3] > north ? of[3] : north;
    }
    box[0] = west; box[1] = south; box[2] = east; box[3] = north;
}

/* Write the least value of roads into the cells that they cross. A road (twice its number, and 1 more
   where it is taken back) has a value at its begin and at its end; what is below nothing is left out.
   Between them it is told in steps of half a cell, each by its middle; roads whose values are all
   below `sure` in steps of a whole one. */
void fill_grid(const Roads *r, int64_t count, const int32_t *road, const double *begin, const double *end,
               const Grid *g, double sure, float *value) {
    double cell_m = g->size * METERS_PER_DEGREE;
    double unit = UNIT_DEG / g->size, west = g->west / g->size, south = g->south / g->size;
    double small = 0.5 * g->size / UNIT_DEG; /* a road that is one step */
    double unit_m = UNIT_DEG * METERS_PER_DEGREE;
    for (int64_t i = 0; i < count; i++) {
        int64_t number = road[i] >> 1;
        if (i + AHEAD < count) PREFETCH(r->box + 4 * (road[i + AHEAD] >> 1));
        double greatest = begin[i] > end[i] ? begin[i] : end[i];
        if (greatest < 0) continue;
        const int32_t *box = r->box + 4 * number;
        int64_t first = r->first[number], points = r->first[number + 1] - first;
        if (box[2] - box[0] < small && box[3] - box[1] < small) {
            const int32_t *p = r->point + 2 * first, *q = p + 2 * (points - 1);
            mark_line(g, value, p[0] * unit - west, p[1] * unit - south, q[0] * unit - west,
                      q[1] * unit - south, greatest);
            continue;
        }
        int64_t at = road[i] & 1 ? first + points - 1 : first, step = road[i] & 1 ? -1 : 1;
        double width = cos(r->point[2 * at + 1] * UNIT_DEG * RADIANS);
        double step_m = (greatest < sure ? 0.99 : 0.5) * cell_m * width; /* cells are narrower than high */
        double whole_m = r->length[r->edge[2 * number + (road[i] & 1)]] / 100.0;
        if (whole_m <= 0) whole_m = 1;
        double slope = (end[i] - begin[i]) / whole_m, here = begin[i];
        for (int64_t k = 0; k + 1 < points; k++) {
            const int32_t *p = r->point + 2 * (at + k * step), *q = p + 2 * step;
            double x = p[0] * unit - west, y = p[1] * unit - south;
            double dx = ((double)q[0] - p[0]) * unit, dy = ((double)q[1] - p[1]) * unit;
            double part_m = unit_m * measure(((double)q[0] - p[0]) * width, (double)q[1] - p[1]);
            double from = 0, to = 1, there = here + slope * part_m;
            if (here < 0 && there < 0) { here = there; continue; }
            if (here < 0) from = here / (here - there); /* cut off what lies before the begin */
            if (there < 0) to = here / (here - there);
            int64_t steps = (int64_t)((to - from) * part_m / step_m) + 1;
            double length = (to - from) / (double)steps;
            for (int64_t n = 0; n < steps; n++) {
                double a = from + (double)n * length, b = a + length;
                mark_line(g, value, x + a * dx, y + a * dy, x + b * dx, y + b * dy,
                          here + 0.5 * (a + b) * (there - here));
            }
            here = there;
        }
    }
}

/* ---- Lines around cells ---- */

/* The middles of four neighboring cells are the corners of a square, which its own middle parts into
   four triangles. A line crosses their sides; each side has a number, by the square at its lower left:
   to the east, to the north, and from the four corners to the middle. */
enum { SIDES = 6 };

typedef struct {
    const Grid *grid;
    const float *value;
    double limit, gap;
} Field;

static double get(const Field *f, int64_t column, int64_t row) {
    double value = f->value[row * f->grid->columns + column];
    return isfinite(value) ? value - f->limit : f->gap;
}

static const int8_t CORNER[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

/* Where a line crosses a side of a square, in cells from the middle of the first one. */
static void place(const Field *f, int64_t side, double *point) {
    int64_t square = side / SIDES, column = square % f->grid->columns, row = square / f->grid->columns;
    int to_north = side % SIDES == 1;
    double one = get(f, column, row), other = get(f, column + !to_north, row + to_north);
    double share = one / (one - other);
    point[0] = column + (to_north ? 0 : share);
    point[1] = row + (to_north ? share : 0);
}

/* Per side of a square the one that a line goes on to, -1 for none; only of squares that have lines. */
typedef struct {
    int32_t *of;   /* per square its number, from 1; 0: none */
    int64_t *next; /* SIDES per number */
    int64_t count, room;
} Lines;

static int64_t get_next(const Lines *l, int64_t side) {
    int32_t number = l->of[side / SIDES];
    return number ? l->next[(number - 1) * (int64_t)SIDES + side % SIDES] : -1;
}

/* Where the next side is told; NULL without memory. */
static int64_t *find_next(Lines *l, int64_t side) {
    int32_t *number = l->of + side / SIDES;
    if (!*number) {
        if (l->count == l->room) {
            l->room = 2 * l->room + 512;
            int64_t *grown = realloc(l->next, (size_t)l->room * SIDES * sizeof(int64_t));
            if (!grown) return NULL;
            l->next = grown;
        }
        for (int k = 0; k < SIDES; k++) l->next[l->count * SIDES + k] = -1;
        *number = (int32_t)++l->count;
    }
    return l->next + (*number - 1) * (int64_t)SIDES + side % SIDES;
}

/* Whether eight cells and those above them are all inside, or none is. */
static inline int is_alike(const uint8_t *of, const uint8_t *above) {
    uint64_t one, other;
    memcpy(&one, of, sizeof one);
    memcpy(&other, above, sizeof other);
    return one == other && (one == 0 || one == UINT64_C(0x0101010101010101));
}

/* Trace the rings around all cells with a value under the limit, these on their left; a cell without a
   value counts as `gap` more than the limit. Cells at the rim have to be without one. Writes points
   and the first point of each ring, as many as there is room for, and counts both. Returns 0, or -1
   without memory. */
int32_t trace_rings(const Grid *g, const float *value, double limit, double gap, double *point,
                    int64_t *first, int64_t point_room, int64_t ring_room, int64_t *points,
                    int64_t *rings) {
    Field f = {g, value, limit, gap};
    int64_t cells = g->columns * g->rows, begun = 0, begin_room = 0;
    int32_t result = -1;
    uint8_t *is_inside = malloc((size_t)cells + 1);
    int64_t *begins = NULL; /* sides that lines leave from */
    Lines lines = {calloc((size_t)cells + 1, sizeof(int32_t)), NULL, 0, 0};
    *points = *rings = 0;
    if (!lines.of || !is_inside) goto done;
    for (int64_t i = 0; i < cells; i++) is_inside[i] = value[i] < limit;
    for (int64_t row = 0; row + 1 < g->rows; row++)
        for (int64_t column = 0; column + 1 < g->columns; column++) {
            const uint8_t *of = is_inside + row * g->columns + column;
            if (column + 8 < g->columns && is_alike(of, of + g->columns)) {
                column += 6; /* the eighth cell begins another square */
                continue;
            }
            int inside = of[0] + of[1] + of[g->columns] + of[g->columns + 1];
            if (inside == 0 || inside == 4) continue;
            double corner[4];
            for (int k = 0; k < 4; k++) corner[k] = get(&f, column + CORNER[k][0], row + CORNER[k][1]);
            if (begun + 4 > begin_room) {
                begin_room = 2 * begin_room + 1024;
                int64_t *grown = realloc(begins, (size_t)begin_room * sizeof(int64_t));
                if (!grown) goto done;
                begins = grown;
            }
            int middle = 0.25 * (corner[0] + corner[1] + corner[2] + corner[3]) < 0;
            int64_t square = row * g->columns + column, base = square * SIDES;
            int64_t outer[4] = {base, base + SIDES + 1, base + g->columns * SIDES, base + 1};
            for (int k = 0; k < 4; k++) {
                int to = (k + 1) % 4;
                /* Around the triangle, and whether each corner is inside. */
                int is_in[3] = {corner[k] < 0, corner[to] < 0, middle};
                int64_t side[3] = {outer[k], base + 2 + to, base + 2 + k};
                int64_t leaves = -1, enters = -1;
                for (int j = 0; j < 3; j++) {
                    if (is_in[j] && !is_in[(j + 1) % 3]) leaves = side[j];
                    if (!is_in[j] && is_in[(j + 1) % 3]) enters = side[j];
                }
                if (leaves >= 0) {
                    int64_t *on = find_next(&lines, leaves);
                    if (!on) goto done;
                    *on = enters;
                    begins[begun++] = leaves;
                }
            }
        }
    for (int64_t i = 0; i < begun; i++) {
        if (get_next(&lines, begins[i]) < 0) continue;
        if (*rings < ring_room) first[*rings] = *points;
        (*rings)++;
        for (int64_t side = begins[i], on; (on = get_next(&lines, side)) >= 0; side = on) {
            if (side % SIDES < 2) { /* the middles only tell which sides belong together */
                if (*points < point_room) place(&f, side, point + 2 * *points);
                (*points)++;
            }
            *find_next(&lines, side) = -1;
        }
    }
    result = 0;
done:
    free(lines.of); free(lines.next); free(is_inside); free(begins);
    return result;
}

/* Cells without a road get what the ones beside them lead on to, so many cells far, at what it takes to
   go across a cell and up one. Returns 0, or -1 without memory. */
static inline float least(float one, float other) { return one < other ? one : other; }

int32_t fill_gaps(const Grid *g, float *value, int64_t steps, float across, float up) {
    int64_t cells = g->columns * g->rows;
    float *before = malloc((size_t)cells * sizeof(float)), aslant = sqrtf(across * across + up * up);
    if (!before) return -1;
    while (steps--) {
        memcpy(before, value, (size_t)cells * sizeof(float));
        for (int64_t row = 1; row + 1 < g->rows; row++) {
            const float *own = before + row * g->columns, *south = own - g->columns, *north = own + g->columns;
            float *to = value + row * g->columns;
            /* Without a branch, so that it is done for several cells at once. */
            for (int64_t i = 1; i < g->columns - 1; i++) {
                float side = least(own[i - 1], own[i + 1]), end = least(south[i], north[i]);
                float corner = least(least(south[i - 1], south[i + 1]), least(north[i - 1], north[i + 1]));
                float led = least(least(side + across, end + up), corner + aslant);
                to[i] = own[i] < INFINITY ? own[i] : led;
            }
        }
    }
    free(before);
    return 0;
}
