/* Loops over the columns of the store. Plain C without Python: `__init__.py` calls these with the
   addresses of arrays, outside of the interpreter lock. Nothing here but spill.c keeps state, and
   nothing is read outside of the arrays that are given: what would be is told by its index. */
#ifndef MAPYARD_STORE_KERNELS_H
#define MAPYARD_STORE_KERNELS_H

#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Rises when a function's arguments or a struct change: another library is not loaded. */
enum { KERNELS_VERSION = 13 };

EXPORT int32_t kernels_version(void);

/* A column in frames (store/frames.py): the base of each frame of 64 values, the place of its
   offsets (first byte times 16, plus the bytes of each offset), and the offsets. */
typedef struct {
    const int64_t *bases, *places;
    const uint8_t *offsets;
    int64_t length, offset_bytes;
} Frames;

/* The values at indexes. All return -1, or the number of the first index that is none or whose frame
   is damaged. */
EXPORT int64_t take_frames(const Frames *frames, const int64_t *indexes, int64_t count, int64_t *out);
EXPORT int64_t take_frames_32(const Frames *frames, const uint32_t *indexes, int64_t count, int64_t *out);

/* The values of the index range [start, stop). */
EXPORT int64_t read_frames(const Frames *frames, int64_t start, int64_t stop, int64_t *out);

/* Put whole frames of values into bases, places and offsets, of which `written` bytes are there already.
   `offsets` has room for eight bytes a value; returns how many it takes. */
EXPORT int64_t pack_frames(
    const int64_t *values, int64_t frame_count, int64_t written, int64_t *bases, int64_t *places,
    uint8_t *offsets);

/* The index of each value in [start, stop), where the column ascends; -1 where it is not there. */
EXPORT int64_t locate_frames(
    const Frames *frames, const int64_t *values, int64_t count, int64_t start, int64_t stop, int64_t *out);

/* The first index in [start, stop), where the column ascends, whose value is not below each of some. */
EXPORT int64_t seek_frames(
    const Frames *frames, const int64_t *values, int64_t count, int64_t start, int64_t stop, int64_t *out);

/* Runs of a column in frames: run i are its values from offset i up to offset i + 1 of another. Where each
   begins, and where it ends when they lie one after the other; ends[0] is 0. */
EXPORT int64_t measure_frame_runs(
    const Frames *offsets, const int64_t *indexes, int64_t count, int64_t *begins, int64_t *ends);

/* Those runs one after the other, as `measure_frame_runs` found them. */
EXPORT int64_t gather_frame_runs(
    const Frames *values, const int64_t *begins, const int64_t *ends, int64_t count, uint32_t *out);

/* Runs of values: run i are those from offsets[i] up to offsets[i + 1], which take four bytes each or
   eight. */
typedef struct {
    const uint32_t *values;
    const void *offsets;
    int64_t run_count, value_count;
    int64_t is_wide;
} Runs;

/* Where each of the runs `first + i` ends when they lie one after the other; ends[0] is 0. Returns -1, or
   the number of the first that is none. */
EXPORT int64_t measure_runs(
    const Runs *runs, const int64_t *indexes, int64_t first, int64_t count, int64_t *ends);

/* Those runs one after the other, as `measure_runs` found them. */
EXPORT void gather_runs(const Runs *runs, const int64_t *indexes, int64_t first, int64_t count, uint32_t *out);

/* The place among all values of the first that is not below values[i] in the run numbers[i], which ascends;
   where that run ends if there is none. Returns -1, or the number of the first that is no run. */
EXPORT int64_t seek_in_runs(
    const Runs *runs, const int64_t *numbers, const uint32_t *values, int64_t count, int64_t *out);

/* Which runs hold each number below `value_count`, every run once: where they end when those of all numbers
   lie one after the other. `last` is room for value_count values. Returns how many they are, or -1 where a
   run is damaged. */
EXPORT int64_t count_owners(const Runs *runs, int64_t value_count, int64_t *ends, uint32_t *last);

/* Those runs, ascending, run i as first + i. `places` are the ends that `count_owners` found, and then where
   those of each number begin. */
EXPORT void list_owners(
    const Runs *runs, int64_t value_count, int64_t first, int64_t *places, uint32_t *last, uint32_t *owners);

/* Where rows went: those from starts[i] up to the next start, the last up to `end`, by shifts[i], or nowhere
   (INT64_MIN). */
typedef struct {
    const int64_t *starts, *shifts;
    int64_t count, end;
} Shifts;

/* The new number of each row, 2^32 - 1 for those that went nowhere; returns how many these are. */
EXPORT int64_t map_rows(const Shifts *map, const uint32_t *rows, int64_t count, uint32_t *out);

/* Texts of relations: relation i is the runs of lines from run_offsets[i] up to run_offsets[i + 1]; run j is
   run_lengths[j] lines from line run_starts[j] on, whose texts lie one after the other. The widths are the
   bytes of each number. */
typedef struct {
    const void *run_offsets, *run_lengths, *text_offsets;
    const uint32_t *run_starts;
    const uint8_t *texts;
    int64_t offset_width, length_width, text_width;
    int64_t relation_count, run_count, line_count, text_bytes;
} Lines;

/* Where the text of each relation ends when they lie one after the other; ends[0] is 0. The comma behind
   the last line is left out. Returns -1, or the number of the first without lines or with damaged ones. */
EXPORT int64_t measure_lines(const Lines *lines, const int64_t *relations, int64_t count, int64_t *ends);

/* Those texts one after the other, as `measure_lines` found them. */
EXPORT void gather_lines(
    const Lines *lines, const int64_t *relations, int64_t count, const int64_t *ends, uint8_t *out);

/* The elements of a dataset, as far as they lie anywhere: its nodes, and its ways with boxes x0 y0 x1 y1. */
typedef struct {
    const int32_t *lon, *lat;
    const int32_t *boxes;
    Runs ways; /* numbers from node_count on are missing nodes */
    int64_t node_count;
} Map;

/* The nodes in a box x0 y0 x1 y1, edges included: those of `rows` itself, which lie in it, and those of the
   ways; any order, with repetitions. Returns how many, also where there is no room for so many, or -1 where
   a way is damaged. */
EXPORT int64_t find_nodes(
    const Map *map, const uint32_t *rows, int64_t count, const int64_t *box, uint32_t *out, int64_t room);

/* The boxes of one level of a tree that meet a box x0 y0 x1 y1: all of them, or those below some nodes of
   the level above, `fanout` each. A box is x0 y0 x1 y1, or a point x y (width 2). Gives their places and
   returns how many, or -1 where a node is none. */
EXPORT int64_t find_boxes(
    const int32_t *boxes, int64_t width, int64_t count, const int64_t *nodes, int64_t node_count,
    int64_t fanout, const int64_t *box, int64_t *out);

/* A packed tree of boxes x0 y0 x1 y1, `fanout` below each node: those of its items, and those of all levels
   above, lowest first, up to one of at most `fanout`. */
typedef struct {
    const int32_t *items, *nodes;
    const uint32_t *rows;
    int64_t item_count, node_count, fanout;
} Tree;

/* The elements with a tag, `rows` ascending, and the lowest nodes of a tree that hold one: those from `first`
   on in a column that ascends, less `first`. */
typedef struct {
    const Frames *nodes;
    const uint32_t *rows;
    int64_t first, row_count;
} Tagged;

/* The rows with a tag whose boxes meet a box x0 y0 x1 y1, edges included, in the order of the tree. Returns
   how many, more than `room` where there are more, or -1 where the tree or a frame is damaged. */
EXPORT int64_t find_tagged(
    const Tree *tree, const Tagged *tagged, const int64_t *box, uint32_t *out, int64_t room);

/* Leave one of each value of a sorted array; returns how many. */
EXPORT int64_t drop_repeats(uint32_t *values, int64_t count);

/* Where points of columns and rows in [0, 65536) lie on the Hilbert curve of order 16. */
EXPORT void hilbert_codes(const int64_t *xs, const int64_t *ys, int64_t count, uint32_t *codes);

/* Mix the bytes of runs into a digest of each: run i are those from ends[i] up to ends[i + 1]. Returns -1, or
   the number of the first run that does not lie in the `size` bytes. */
EXPORT int64_t digest_runs(
    const uint8_t *bytes, int64_t size, const int64_t *ends, int64_t count, uint64_t *digests);

/* Where each wanted value is in an array that ascends, -1 where it is not. Fast where these ascend too. */
EXPORT void find_sorted_32(
    const uint32_t *known, int64_t count, const uint32_t *wanted, int64_t wanted_count, int64_t *out);
EXPORT void find_sorted_64(
    const int64_t *known, int64_t count, const int64_t *wanted, int64_t wanted_count, int64_t *out);

/* Values in runs whose numbers change: value v becomes numbers[v], which is negative where it is no more.
   How many are left of each run; returns how many there were, or -1 where a value or an offset is none. */
EXPORT int64_t count_kept(
    const int32_t *values, const uint32_t *offsets, int64_t run_count, int64_t value_count,
    const int32_t *numbers, int64_t number_count, int64_t *counts);

/* The new runs from `first` up to `stop`: run i holds what is left of the old run runs[i] (of none where
   that is negative), and the added values from added_offsets[i] on; both ascend. Returns how many values
   are written, or -1 where a value or an offset is none, or there might be no room. */
EXPORT int64_t splice_runs(
    const int32_t *values, const uint32_t *offsets, int64_t run_count, int64_t value_count,
    const int32_t *numbers, int64_t number_count, const int64_t *runs, int64_t first, int64_t stop,
    const int32_t *added, const int64_t *added_offsets, int32_t *out, int64_t room);

/* Shapes on a grid: feature i are the rings, or lines, from features[i] up to features[i + 1], ring j the
   vertices x y from rings[j] up to rings[j + 1]. What is wide takes eight bytes a number, else four. */
typedef struct {
    const void *xy, *rings, *features;
    int64_t vertex_count, ring_count, feature_count;
    int64_t is_wide_xy, is_wide_rings, is_wide_features;
} Outlines;

/* What is left of some shapes, with room for all of them; `left` tells which of the asked ones they are. */
typedef struct {
    int64_t *xy, *rings, *features, *left;
    int64_t vertex_room, ring_room;
} Thinned;

/* Shapes in coarser units: `grid` is by how many bits, and the corner x y in those units. Repeated vertices
   go, in rings those on a straight line too; lines of one vertex; rings of no area or, twice, less than
   `least`; holes, which have negative areas, whose exterior ring went. Returns how many features are left,
   or -1 where one is damaged. */
EXPORT int64_t thin_outlines(
    const Outlines *from, const int64_t *indexes, int64_t count, const int64_t *grid, int64_t is_closed,
    int64_t least, const Thinned *to);

/* The rings of polygons, all numbers wide, without the vertices that lie within a tolerance of what is left of
   them, and without those that collapse, as GEOS does; those of up to three vertices as they are where a
   polygon has no others. `ends` is room for the vertices of the largest ring. A polygon with a ring that turned
   over, or a hole that lost its exterior ring, is doubtful and left empty; one that is a small ring is surely
   valid where that ring does not touch itself. Returns how many vertices are left, or -1 where a polygon is
   damaged. */
EXPORT int64_t simplify_polygons(
    const Outlines *from, double tolerance, int64_t *ends, int64_t end_room, int64_t *xy, int64_t *rings,
    int64_t *features, uint8_t *is_doubtful, uint8_t *is_sure);

/* Shapes as they are, one after the other. Returns how many vertices they have, or -1 where one is damaged. */
EXPORT int64_t gather_outlines(
    const Outlines *from, const int64_t *indexes, int64_t count, const Thinned *to);

/* What large arrays take: in memory, in files since `spill_begin`, and what was refused last with which
   error. */
typedef struct {
    int64_t held_bytes, spilled_bytes, refused_bytes;
    int64_t refused_error;
} Spilled;

/* Let numpy's arrays of `large` bytes and more lie in files without a name in a folder, once those in memory
   take `room` bytes. Returns a PyDataMem_Handler. */
EXPORT void *spill_begin(const char *folder, int64_t room, int64_t large);

/* Give memory that was freed back to the system: what is kept for the next arrays, and at the end, when
   nothing is kept any more. */
EXPORT void spill_trim(void);
EXPORT void spill_end(void);
EXPORT void spill_tell(Spilled *told);

#endif
