/* Loops over flat arrays for routing. Plain C without Python: `__init__.py` calls these with the
   addresses of arrays, outside of the interpreter lock. Nothing here keeps state, but where memory is
   from. */
#ifndef MAPYARD_KERNELS_H
#define MAPYARD_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Rises when a function's arguments or a struct change: another library is not loaded. */
enum { KERNELS_VERSION = 16 };

/* No way. Costs and times are in milliseconds, lengths in centimeters; costs stay below, so that two
   of them can be added. Ways begin with a cost that may be less than nothing, as their first edge
   counts as a whole: by less than NO_WAY - FARTHEST, so that no way plus it is no way yet. */
#define NO_WAY INT32_C(0x3FFFFFFF)
#define FARTHEST INT32_C(0x2FFFFFFF)

/* A shortcut between a vertex and one of its ancestors, which is told by its depth. */
typedef struct {
    int32_t depth, cost, time, length;
} Arc;

/* A contracted graph. Vertices are numbered in the order of contraction, so that parents and
   ancestors in the elimination tree come after their children; the roots have depth 0. Shortcuts
   upward lead from a vertex to an ancestor, those downward from an ancestor to the vertex; the
   shortcuts of vertex v are those from first[v] to first[v + 1], deepest first. The middle is the
   lower vertex that a shortcut goes over, or -1 for an arc of the graph itself. */
typedef struct {
    int64_t count;
    int32_t *parent; /* -1 at a root */
    int32_t *depth;
    uint32_t *up_first, *down_first;
    Arc *up, *down;
    int32_t *up_middle, *down_middle;
    /* The cheapest rounds from a vertex to itself over lower ones alone. */
    Arc *round;
    int32_t *round_middle;
} Hierarchy;

EXPORT int32_t kernels_version(void);

/* Let the loops of a build (order, contraction, what is connected) have their memory from one of
   numpy's handlers (PyDataMem_Handler), or NULL for the system's. What was taken before has to be given
   back before. */
EXPORT void take_memory_from(const void *handler);
void *take_bytes(size_t size);
void *take_zeros(size_t count, size_t width);
void *take_more(void *start, size_t size);
void give_back(void *start);

EXPORT int32_t order_roads(int32_t crossings, int32_t roads, const int32_t *tail, const int32_t *head,
                           const int32_t *x, const int32_t *y, int32_t *order);

typedef struct Completion Completion;

EXPORT Completion *complete(int32_t count, int64_t arcs, const int32_t *tail, const int32_t *head);
EXPORT int64_t count_joined(const Completion *completion);
EXPORT void free_completion(Completion *completion);
EXPORT int32_t customize(Completion *completion, int64_t arcs, const int32_t *tail, const int32_t *head,
                         const int32_t *cost, int32_t *up, int32_t *down, int32_t *up_middle,
                         int32_t *down_middle, uint8_t *dropped, int32_t *round_middle, int64_t *kept);
EXPORT int32_t keep_shortcuts(const Completion *completion, int64_t arcs, const int32_t *tail,
                              const int32_t *head, const int32_t *cost, const int32_t *time,
                              const int32_t *length, Hierarchy *hierarchy);
EXPORT int32_t find_connected(int32_t count, int64_t arcs, const int32_t *tail, const int32_t *head,
                              const int32_t *begin, const int32_t *end, int32_t crossings,
                              int32_t enough, uint8_t *connected);

typedef struct Labels Labels;

EXPORT Labels *search(const Hierarchy *hierarchy, int32_t upward, int64_t positions,
                      const int64_t *first, const int32_t *vertex, const int32_t *cost,
                      const int32_t *time, const int32_t *length);
EXPORT void free_labels(Labels *labels);
EXPORT int64_t count_labels(const Labels *labels);
EXPORT void combine(const Labels *from, const Labels *to, int32_t *cost, int32_t *time,
                    int32_t *length);
EXPORT int32_t find_ways(const Hierarchy *hierarchy, int64_t pairs, const int32_t *from,
                         const int32_t *to, int32_t *cost, int32_t *time, int32_t *length);
EXPORT int64_t unpack_way(const Hierarchy *hierarchy, int32_t from, int32_t to, int32_t *way,
                          int64_t room);

/* A contracted graph and the edges that its vertices are. */
typedef struct {
    const Hierarchy *hierarchy;
    const int32_t *begin;      /* per edge the vertex that ways begin at, -1 where it is not used */
    const uint32_t *first_end; /* per edge, and one more: a place in `end` */
    const int32_t *end;        /* vertices that ways onto it end at */
    const int32_t *edge;       /* per vertex */
} Contracted;

/* What ways of a mode are found in: with the rules for private roads and dead ends, and without. */
typedef struct {
    Contracted strict, relaxed;
    const int32_t *cost, *time, *length; /* of whole edges */
    const int32_t *start, *end;          /* their crossings */
    int64_t asks_again;                  /* whether the rules are left out where there is no way by them */
    int64_t cost_scale;                  /* into how many parts a cost of 1 is counted: 1000, milliseconds */
} Network;

/* The places of a position on roads. */
typedef struct {
    int64_t count;
    const int32_t *edge; /* -1: none */
    const double *share; /* of the edge that lies before it */
    const double *away_m;
} Sides;

typedef struct {
    int32_t cost, time, length;
    int32_t from, to; /* rows of the places */
    int32_t is_relaxed;
    int64_t count; /* of vertices */
} Found;

EXPORT int32_t find_way(const Network *network, const Sides *from, const Sides *to, Found *found,
                        int32_t *vertex, int32_t *edge, int64_t room);
EXPORT void measure_way(const Hierarchy *hierarchy, int64_t count, const int32_t *way, int32_t *cost,
                        int32_t *time);

/* The turns of a graph as they are, by the vertex that they lead from, and, backward, by the one that
   they lead to. What a turn takes includes the edge before it. */
typedef struct {
    int32_t head, cost, time;
} Turn;
typedef struct {
    int32_t tail;
    uint32_t turn;
} Back;
typedef struct {
    const uint32_t *first, *back_first;
    const Turn *turn;
    const Back *back;
    const int32_t *edge, *length; /* per vertex, per edge */
} Turns;

typedef struct Spread Spread;

EXPORT Spread *spread(const Turns *turns, int32_t backward, int64_t places, const int32_t *vertex,
                      const int32_t *cost, const int32_t *time, const int32_t *length,
                      int32_t most_time, int32_t most_length);
EXPORT int64_t list_reached(const Spread *spread, int32_t *vertex, int32_t *time, int32_t *length);
EXPORT int64_t count_cut(const Spread *spread);
EXPORT void free_spread(Spread *spread);

/* Roads in Hilbert order, in a packed tree of boxes. Places are millionths of a degree. */
typedef struct {
    int64_t count;
    const int32_t *box;        /* west, south, east, north, per road */
    const uint8_t *modes;      /* bits of who may use it, per road */
    const int32_t *upper_box;  /* of the upper levels, from the lowest up */
    const uint8_t *upper_modes;
    const uint32_t *first;     /* of each road's points, and one more */
    const int32_t *point;      /* longitude, latitude */
    const int32_t *edge;       /* along and back, per road */
    /* Per edge: */
    const int32_t *length; /* centimeters */
    const int32_t *start, *end; /* crossings */
    const uint8_t *edge_modes;
    const int32_t *opposing;
    const int32_t *road; /* twice its road, and 1 more where it leads back; -1: none */
    const uint8_t *kinds; /* bits of what a route tells of */
    /* Edges by the crossing that they begin at; the first of each crossing, and one more. */
    const uint32_t *first_out;
    const int32_t *out;
} Roads;

EXPORT int32_t decode_shapes(const uint8_t *data, int64_t size, int64_t count, const int64_t *record,
                             uint32_t *first, int32_t *point);
EXPORT int32_t snap(const Roads *roads, int64_t count, const double *lon, const double *lat,
                    uint8_t modes, double radius_m, int32_t *road, double *away_m, double *along_m,
                    double *at, uint8_t *end);
EXPORT int64_t find_places(const Roads *roads, int64_t count, const double *position, uint8_t modes,
                           double radius_m, int64_t *of, int32_t *edge, double *share, double *away_m,
                           double *at, int64_t room);
EXPORT int64_t find_near(const Roads *roads, double lon, double lat, uint8_t modes, double radius_m,
                         int32_t *road, double *at, int64_t room);
EXPORT int64_t join_line(const Roads *roads, int64_t count, const int32_t *edge, const double *share,
                         const double *at, double *line, int64_t *last, int64_t room,
                         int32_t *kinds);
EXPORT int64_t encode_line(int64_t count, int64_t stride, const double *position, double factor,
                           uint8_t *text);

/* Two positions, and the way between them. */
typedef struct {
    double position[4]; /* longitude, latitude */
    double radius_m;    /* within which their roads are */
    int64_t modes;      /* bits of who may use these */
    Found found;
    double share[2], at[4]; /* where it begins and ends */
    int64_t points;         /* of its line */
    int32_t kinds;          /* bits of what a route tells of */
} Trip;

EXPORT int32_t find_trip(const Roads *roads, const Network *network, Trip *trip, int32_t *vertex, int32_t *edge,
                         int64_t room, double *line, int64_t *last, int64_t points);

/* Cells of a grid by row; its west and south edge and the size of a cell are in degrees. What it takes
   to cross a cell without a road, from west to east and from south to north, is told too. */
typedef struct {
    double west, south, size, wide, high;
    int64_t columns, rows;
} Grid;

EXPORT void fill_grid(const Roads *roads, int64_t count, const int32_t *road, const double *begin,
                      const double *end, const Grid *grid, double sure, float *value);
EXPORT void surround(const Roads *roads, int64_t count, const int32_t *road, int32_t *box);
EXPORT int32_t fill_gaps(const Grid *grid, float *value, int64_t steps, float across, float up);
EXPORT int32_t trace_rings(const Grid *grid, const float *value, double limit, double gap,
                           double *point, int64_t *first, int64_t point_room, int64_t ring_room,
                           int64_t *points, int64_t *rings);

#endif
