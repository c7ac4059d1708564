"""Streets, and other long things that OSM cuts in pieces: one of a name and municipality is one."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.columns import (
    Floats,
    Ints,
    TagColumn,
    connected_components,
    count_pairs,
    find_places,
    group_offsets,
    join_keys,
    round_positions,
    sort_stably,
)
from mapyard.geocoding.build.memo import Memo
from mapyard.store.columns import ranges
from mapyard.store.reader import E7, Store
from mapyard.text.analysis import name_key
from mapyard.text.names import parse_name_key, split_values

#: Pieces of one name in one municipality that are farther apart are other streets.
GAP_M: Final = 1_000.0
_NOT_STREETS: Final = frozenset(
    ("platform", "services", "rest_area", "proposed", "razed", "abandoned", "bus_stop", "elevator",
     "emergency_bay", "emergency_access_point")
)  # fmt: skip
_CLASSES: Final = {
    "motorway": 7, "trunk": 6, "primary": 5, "secondary": 4, "tertiary": 3, "unclassified": 2,
    "residential": 2, "living_street": 2, "pedestrian": 3,
}  # fmt: skip
#: A group larger than this is searched with a tree instead of by all pairs.
_MAX_PAIRS_GROUP: Final = 1_000


class Lines(NamedTuple):
    """Grouped linear features; pieces of group g are rows[offsets[g]:offsets[g + 1]]."""

    rows: Ints
    offsets: Ints
    #: The largest piece of each group: its tags stand for the group.
    main: Ints
    #: A point on the group, near its middle; degrees.
    lon: Floats
    lat: Floats
    #: Box of each group in degrees, (n, 4).
    boxes: Floats
    #: Road class 0–7.
    importance_class: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.main)

    def owners(self) -> Ints:
        """Return the group of each piece."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


def find_street_rows(store: Store) -> Ints:
    """Return the sorted way and relation rows that are named streets."""
    rows = _named_ways(store, "highway")
    kinds = TagColumn(store, rows, "highway")
    wrong = [i for i, text in enumerate(kinds.texts) if text in _NOT_STREETS]
    return rows[~np.isin(kinds.codes, wrong)]


def find_river_rows(store: Store) -> Ints:
    """Return the sorted way rows that are named waterways."""
    return _named_ways(store, "waterway")


def _named_ways(store: Store, key: str) -> Ints:
    having = store.rows_with_key(key)
    ways = having[np.searchsorted(having, np.uint32(store.way_start)) :]
    return ways[store.has_key(ways, "name")].astype(np.int64)


def group_lines(memo: Memo, name: str, rows: Ints, municipality: Ints) -> Lines:
    """Return the rows grouped by name, municipality and nearness, in the order of `main`.

    Args:
        memo: of the build.
        name: of this kind of lines.
        rows: ways and relations that all have a name, sorted.
        municipality: number of the municipality of each row, −1 outside all.
    """
    store = memo.store
    boxes = store.boxes(rows).astype(np.float64) / E7
    has_geometry = boxes[:, 0] <= boxes[:, 2]
    rows, municipality, boxes = rows[has_geometry], municipality[has_geometry], boxes[has_geometry]
    names = TagColumn(store, rows, "name")
    keys = {key: i for i, key in enumerate(dict.fromkeys(map(name_key, names.texts)))}
    key_codes = np.array([keys[name_key(text)] for text in names.texts], np.int64)
    if not len(rows):
        empty = np.empty(0, np.int64)
        nothing = np.empty(0)
        return Lines(
            empty, np.zeros(1, np.int64), empty, nothing, nothing, np.empty((0, 4)),
            np.empty(0, np.int8),
        )  # fmt: skip
    same = join_keys(key_codes[names.codes], municipality)
    one, other = _near_pairs(same, boxes)
    group = join_keys(same, connected_components(len(rows), one, other))
    size = np.hypot(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    # Groups in the order of their main rows: a change never puts others in another order.
    main = rows[_largest(size, group)]
    group = np.searchsorted(np.sort(main), main[group])
    order = sort_stably(group)
    rows, group, boxes = rows[order], group[order], boxes[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    offsets = np.r_[starts, len(rows)]
    group_boxes = np.column_stack(
        [
            np.minimum.reduceat(boxes[:, 0], starts),
            np.minimum.reduceat(boxes[:, 1], starts),
            np.maximum.reduceat(boxes[:, 2], starts),
            np.maximum.reduceat(boxes[:, 3], starts),
        ]
    )
    middle = _nearest_piece(boxes, group_boxes, group, starts)
    points = memo.by_row(f"{name}_point", rows[middle], lambda rows: _points_on(store, rows))
    classes = TagColumn(store, rows, "highway")
    table = np.array([_CLASSES.get(text, 1) for text in classes.texts] + [0], np.int8)
    best = np.maximum.reduceat(table[classes.codes], starts)
    return Lines(rows, offsets, np.sort(main), points[:, 0], points[:, 1], group_boxes, best)


def _largest(size: Floats, group: Ints) -> Ints:
    """Return the index of the largest item of each group, of equal ones the first."""
    order = np.lexsort((-size, group))
    sorted_ = group[order]
    return np.asarray(order[np.flatnonzero(np.r_[True, sorted_[1:] != sorted_[:-1]])])


def _nearest_piece(boxes: Floats, group_boxes: Floats, group: Ints, starts: Ints) -> Ints:
    """Return the index of the piece of each group that is nearest to the group's middle."""
    x = (boxes[:, 0] + boxes[:, 2]) / 2 - (group_boxes[group, 0] + group_boxes[group, 2]) / 2
    y = (boxes[:, 1] + boxes[:, 3]) / 2 - (group_boxes[group, 1] + group_boxes[group, 3]) / 2
    return np.asarray(np.lexsort((np.hypot(x, y), group))[starts])


def _points_on(store: Store, rows: Ints) -> Floats:
    """Return a point on each row, (n, 2): the middle of a line, a point inside an area."""
    shapes = store.geometries(rows)
    is_line = shapely.get_type_id(shapes) == 1
    points = np.empty(len(rows), np.object_)
    points[is_line] = shapely.line_interpolate_point(shapes[is_line], 0.5, normalized=True)
    points[~is_line] = shapely.point_on_surface(shapes[~is_line])
    return np.column_stack(round_positions(shapely.get_x(points), shapely.get_y(points)))


def _near_pairs(group: Ints, boxes: Floats) -> tuple[Ints, Ints]:
    """Return the pairs of items of one group whose boxes are within GAP_M, each pair once."""
    order = sort_stably(group)
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    ones: list[Ints] = []
    others: list[Ints] = []
    for number in np.flatnonzero(sizes > _MAX_PAIRS_GROUP):
        items = order[starts[number] : starts[number] + sizes[number]]
        one, other = _near_pairs_by_tree(boxes[items])
        ones.append(items[one])
        others.append(items[other])
    small = np.flatnonzero((sizes > 1) & (sizes <= _MAX_PAIRS_GROUP))
    # Item k of a group is paired with items 0 … k − 1 of the group.
    place = ranges(starts[small], sizes[small])
    rank = place - np.repeat(starts[small], sizes[small])
    one = np.repeat(place, rank)
    other = ranges(place - rank, rank)
    one, other = order[one], order[other]
    near = _box_gaps_m(boxes[one], boxes[other]) <= GAP_M
    ones.append(one[near])
    others.append(other[near])
    return np.concatenate(ones), np.concatenate(others)


def _near_pairs_by_tree(boxes: Floats) -> tuple[Any, Any]:
    lat = np.clip(np.abs(boxes[:, 1]), 0, 89)
    dy = GAP_M / 111_195.0
    dx = dy / np.cos(np.radians(lat))
    shapes = shapely.box(boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3])
    wide = shapely.box(boxes[:, 0] - dx, boxes[:, 1] - dy, boxes[:, 2] + dx, boxes[:, 3] + dy)
    return shapely.STRtree(shapes).query(wide)


def _box_gaps_m(one: Floats, other: Floats) -> Floats:
    """Return the gap between boxes in metres, 0 where they meet."""
    dx = np.maximum(0, np.maximum(one[:, 0] - other[:, 2], other[:, 0] - one[:, 2]))
    dy = np.maximum(0, np.maximum(one[:, 1] - other[:, 3], other[:, 1] - one[:, 3]))
    scale = np.cos(np.radians(one[:, 1]))
    return np.asarray(np.hypot(dx * scale, dy) * 111_195.0)


class GroupNames:
    """Names of groups, as numbers of texts; group i has those from offset i up to the next."""

    def __init__(self, texts: list[str], codes: Ints, offsets: Ints) -> None:
        self.texts, self.codes, self.offsets = texts, codes, offsets
        self._codes, self._offsets = memoryview(codes), memoryview(offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, group: int) -> list[str]:
        return [
            self.texts[code]
            for code in self._codes[self._offsets[group] : self._offsets[group + 1]]
        ]

    def owners(self) -> Ints:
        """Return the group of each name in `codes`."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


def names_of_groups(store: Store, lines: Lines) -> GroupNames:
    """Return all distinct names of the pieces of each group, old and local ones too."""
    owners = lines.owners()
    order = np.argsort(lines.rows)
    rows = lines.rows[order]
    numbers: dict[str, int] = {}
    all_groups, all_names = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for key in sorted(store.keys, key=lambda k: (k != "name", k)):
        if parse_name_key(key) is None:
            continue
        having = find_places(rows, store.rows_with_key(key))
        column = TagColumn(store, rows[having], key)
        groups, codes, _ = count_pairs(owners[order[having]], column.codes)
        values = [split_values(text) for text in column.texts]
        sizes = np.array([len(names) for names in values] + [0], np.int64)
        flat = [numbers.setdefault(name, len(numbers)) for names in values for name in names]
        places = ranges((np.cumsum(sizes) - sizes)[codes], sizes[codes])
        all_groups.append(np.repeat(groups, sizes[codes]))
        all_names.append(np.array(flat, np.int64)[places])
    group, name = np.concatenate(all_groups), np.concatenate(all_names)
    # Of equal ones of a group the first.
    kept = np.sort(np.unique(group * max(1, len(numbers)) + name, return_index=True)[1])
    group, name = group[kept], name[kept]
    order = sort_stably(group)
    return GroupNames(list(numbers), name[order], group_offsets(group, len(lines)))
