/* Areas out of what is reached: values along roads into the cells of a grid, and the lines around the
   cells under a limit. */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>

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

static inline void mark(const Grid *g, float *value, int64_t column, int64_t row, float here) {
    if (column < 0 || row < 0 || column >= g->columns || row >= g->rows) return;
    float *cell = value + row * g->columns + column;
    if (here < *cell) *cell = here;
}

/* Mark the cells that a line crosses that is shorter than one, in units of cells; these begin at 0. */
static inline void mark_line(const Grid *g, float *value, double x, double y, double to_x, double to_y, float here) {
    int64_t column = (int64_t)x, row = (int64_t)y, to_column = (int64_t)to_x, to_row = (int64_t)to_y;
    mark(g, value, column, row, here);
    if (column == to_column && row == to_row) return;
    mark(g, value, to_column, to_row, here);
    if (column == to_column || row == to_row) return;
    /* Over a corner: the third cell lies before or behind the vertical line between. */
    double edge = to_column > column ? to_column : column;
    double cross = y + (edge - x) * (to_y - y) / (to_x - x);
    if ((int64_t)cross == row) mark(g, value, to_column, row, here);
    else mark(g, value, column, to_row, here);
}

/* Write the least value of roads into the cells that they cross. A road (twice its number, and 1 more
   where it is taken back) has a value at its begin and at its end; what is below nothing is left out.
   Between them it is told in steps of a quarter of a cell, each by its greater value. */
void fill_grid(const Roads *r, int64_t count, const int32_t *road, const double *begin, const double *end,
               const Grid *g, float *value) {
    double step_m = g->size * METERS_PER_DEGREE / 4;
    double unit = UNIT_DEG / g->size, west = g->west / g->size, south = g->south / g->size;
    double small = 1.5 * g->size / 4 / UNIT_DEG; /* a road that is one step */
    for (int64_t i = 0; i < count; i++) {
        int64_t number = road[i] >> 1;
        if (i + AHEAD < count) PREFETCH(r->box + 4 * (road[i + AHEAD] >> 1));
        double greatest = begin[i] > end[i] ? begin[i] : end[i];
        if (greatest < 0) continue;
        const int32_t *box = r->box + 4 * number;
        if (box[2] - box[0] < small && box[3] - box[1] < small) {
            mark_line(g, value, box[0] * unit - west, box[1] * unit - south, box[2] * unit - west,
                      box[3] * unit - south, (float)greatest);
            continue;
        }
        int64_t first = r->first[number], points = r->first[number + 1] - first;
        int64_t at = road[i] & 1 ? first + points - 1 : first, step = road[i] & 1 ? -1 : 1;
        double whole_m = 0, width = cos(r->point[2 * at + 1] * UNIT_DEG * RADIANS);
        double unit_m = UNIT_DEG * METERS_PER_DEGREE;
        for (int64_t k = 0; k + 1 < points; k++) {
            const int32_t *p = r->point + 2 * (at + k * step), *q = p + 2 * step;
            whole_m += unit_m * measure(((double)q[0] - p[0]) * width, (double)q[1] - p[1]);
        }
        if (whole_m <= 0) continue;
        double slope = (end[i] - begin[i]) / whole_m, along_m = 0;
        for (int64_t k = 0; k + 1 < points; k++) {
            const int32_t *p = r->point + 2 * (at + k * step), *q = p + 2 * step;
            double part_m = unit_m * measure(((double)q[0] - p[0]) * width, (double)q[1] - p[1]);
            double x = p[0] * unit - west, y = p[1] * unit - south;
            double dx = ((double)q[0] - p[0]) * unit, dy = ((double)q[1] - p[1]) * unit;
            double done_m = 0;
            while (done_m < part_m) {
                /* Up to the next whole step, counted from the road's begin. */
                double from_m = along_m + done_m;
                double upto_m = ((double)(int64_t)(from_m / step_m + 1e-9) + 1) * step_m;
                double next_m = upto_m - along_m < part_m ? upto_m - along_m : part_m;
                if (next_m <= done_m) next_m = part_m;
                if (upto_m > whole_m) upto_m = whole_m;
                double low = begin[i] + slope * from_m, high = begin[i] + slope * upto_m;
                double a = done_m / part_m, b = next_m / part_m;
                double greater = low > high ? low : high;
                if (greater >= 0) {
                    double least = low < high ? low : high;
                    if (least < 0) { /* cut off what lies before the begin */
                        double zero = (-begin[i] / slope - along_m) / part_m;
                        if (slope > 0 && zero > a) a = zero < b ? zero : b;
                        if (slope < 0 && zero < b) b = zero > a ? zero : a;
                    }
                    mark_line(g, value, x + a * dx, y + a * dy, x + b * dx, y + b * dy, (float)greater);
                }
                done_m = next_m;
            }
            along_m += part_m;
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

/* Trace the rings around all cells with a value under the limit, these on their left; a cell without a
   value counts as `gap` more than the limit. Cells at the rim have to be without one. Writes points
   and the first point of each ring, as many as there is room for, and counts both. Returns 0, or -1
   without memory. */
int32_t trace_rings(const Grid *g, const float *value, double limit, double gap, double *point,
                    int64_t *first, int64_t point_room, int64_t ring_room, int64_t *points,
                    int64_t *rings) {
    Field f = {g, value, limit, gap};
    int64_t cells = g->columns * g->rows;
    int32_t *next = malloc(((size_t)cells * SIDES + 1) * sizeof(int32_t));
    *points = *rings = 0;
    if (!next) return -1;
    for (int64_t i = 0; i < cells * SIDES; i++) next[i] = -1;
    for (int64_t row = 0; row + 1 < g->rows; row++)
        for (int64_t column = 0; column + 1 < g->columns; column++) {
            double corner[4];
            int inside = 0;
            for (int k = 0; k < 4; k++) {
                corner[k] = get(&f, column + CORNER[k][0], row + CORNER[k][1]);
                inside += corner[k] < 0;
            }
            if (inside == 0 || inside == 4) continue;
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
                if (leaves >= 0) next[leaves] = (int32_t)enters;
            }
        }
    for (int64_t i = 0; i < cells * SIDES; i++) {
        if (next[i] < 0) continue;
        if (*rings < ring_room) first[*rings] = *points;
        (*rings)++;
        for (int64_t side = i; next[side] >= 0;) {
            if (side % SIDES < 2) { /* the middles only tell which sides belong together */
                if (*points < point_room) place(&f, side, point + 2 * *points);
                (*points)++;
            }
            int32_t on = next[side];
            next[side] = -1;
            side = on;
        }
    }
    free(next);
    return 0;
}
