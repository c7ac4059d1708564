#include "frames.h"

enum { MOST_LEVELS = 16 };

typedef struct {
    const Tree *tree;
    const Tagged *tagged;
    const int64_t *box;
    uint32_t *out;
    int64_t room, found;
    /* Of each level, items first: how many there are, and where their boxes begin. */
    int64_t counts[MOST_LEVELS];
    const int32_t *boxes[MOST_LEVELS];
} Search;

static inline int meets(const int32_t *box, const int64_t *asked) {
    return box[0] <= asked[2] && box[2] >= asked[0] && box[1] <= asked[3] && box[3] >= asked[1];
}

static int has_tag(const Tagged *tagged, uint32_t row) {
    int64_t low = 0, high = tagged->row_count;
    while (low < high) {
        int64_t middle = (low + high) >> 1;
        if (tagged->rows[middle] < row) low = middle + 1;
        else high = middle;
    }
    return low < tagged->row_count && tagged->rows[low] == row;
}

/* How many lowest nodes lie below one of a level, its own number apart. */
static int64_t count_below(const Search *search, int level) {
    int64_t below = 1;
    for (; level > 1; level--) below *= search->tree->fanout;
    return below;
}

/* The items of the lowest nodes below one node that hold the tag. */
static int look_below(Search *search, int level, int64_t node) {
    const Tree *tree = search->tree;
    const Tagged *tagged = search->tagged;
    int64_t lowest = (tree->item_count + tree->fanout - 1) / tree->fanout, below = count_below(search, level);
    int64_t start = node * below, stop = start + below < lowest ? start + below : lowest, place, value;
    if (!find_value(tagged->nodes, tagged->first + start, 0, tagged->nodes->length, &place)) return 0;
    for (; place < tagged->nodes->length && search->found <= search->room; place++) {
        if (!read_value(tagged->nodes, place, &value)) return 0;
        value -= tagged->first;
        if (value >= stop) break;
        if (value < start) return 0; /* they do not ascend */
        if (level > 1 && !meets(search->boxes[1] + 4 * value, search->box)) continue;
        int64_t item = value * tree->fanout, end = item + tree->fanout;
        if (end > tree->item_count) end = tree->item_count;
        for (; item < end; item++) {
            if (!meets(tree->items + 4 * item, search->box) || !has_tag(tagged, tree->rows[item])) continue;
            if (search->found < search->room) search->out[search->found] = tree->rows[item];
            if (++search->found > search->room) return 1;
        }
    }
    return 1;
}

/* Go down from the nodes [start, stop) of a level; two levels above the items the tag says where. */
static int descend(Search *search, int level, int64_t start, int64_t stop) {
    int64_t fanout = search->tree->fanout;
    if (stop > search->counts[level]) stop = search->counts[level];
    for (int64_t node = start; node < stop && search->found <= search->room; node++) {
        if (!meets(search->boxes[level] + 4 * node, search->box)) continue;
        int is_well = level <= 2 ? look_below(search, level, node)
                                 : descend(search, level - 1, node * fanout, (node + 1) * fanout);
        if (!is_well) return 0;
    }
    return 1;
}

int64_t find_tagged(
    const Tree *tree, const Tagged *tagged, const int64_t *box, uint32_t *out, int64_t room) {
    Search search = {.tree = tree, .tagged = tagged, .box = box, .out = out, .room = room};
    int64_t count = search.counts[0] = tree->item_count, above = 0;
    int level = 0;
    search.boxes[0] = tree->items;
    while (count > tree->fanout) {
        count = (count + tree->fanout - 1) / tree->fanout;
        if (++level == MOST_LEVELS || above + count > tree->node_count) return -1;
        search.counts[level] = count;
        search.boxes[level] = tree->nodes + 4 * above;
        above += count;
    }
    int is_well = !count ? 1 : level ? descend(&search, level, 0, count) : look_below(&search, 1, 0);
    return is_well ? search.found : -1;
}
