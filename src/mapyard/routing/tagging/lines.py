"""Lines to walk along over areas: squares from place to place, parks where the ways are long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.tagging.areas import (
    AREA_KEYS,
    Ends,
    draw_lines,
    is_walked_area,
    tag_square_line,
)
from mapyard.routing.tagging.around import AROUND_DEG, Surroundings
from mapyard.routing.tagging.blocks import Ints, Tags
from mapyard.routing.tagging.entrances import Entrances
from mapyard.routing.tagging.parks import Drawn, draw_park, is_park, tag_park_line
from mapyard.routing.tagging.rings import (
    E7,
    NOWHERE,
    Areas,
    Nodes,
    name_positions,
    read_areas,
    read_nodes,
)
from mapyard.store.columns import ColumnWriter, open_column
from mapyard.store.rtree import Boxes

#: A park over the antimeridian is left out, 1e-7 degree.
_MOST_WIDE: Final = E7
#: Lines that are read at once.
_AT_ONCE: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class Line:
    """A line across an area, between two of its nodes."""

    way_id: int
    ends: Ends
    tags: Tags


class Lines:
    """Lines over areas, in mapped columns: squares first, each in the order of the file."""

    def __init__(self, areas: Areas, numbers: Ints, ends: Ints) -> None:
        """Take the number of the area of each line, and its two nodes."""
        self._areas, self._numbers, self._ends = areas, numbers, ends

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Line]:
        """Yield the lines by the ids of the ways that they belong to, which rise."""
        order = np.argsort(self._areas.way_ids[self._numbers], kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            pairs = zip(self._numbers[some].tolist(), self._ends[some].tolist(), strict=True)
            for number, of_area in groupby(pairs, key=lambda pair: pair[0]):
                way_id, told = self._areas.way_id(number), self._areas.tags(number)
                tags = tag_square_line(told) if is_walked_area(told) else tag_park_line(told)
                for _, (one, other) in of_area:
                    yield Line(way_id, (one, other), tags)


def find_lines(pbf: Path, folder: Path) -> Lines:
    """Return the lines over all areas of a file. Its columns lie in a folder, which has to stay."""
    areas = read_areas(
        pbf, folder, (*AREA_KEYS, "leisure"), lambda tags: is_walked_area(tags) or is_park(tags)
    )
    is_square = np.fromiter(
        (is_walked_area(areas.tags(number)) for number in range(len(areas))), np.bool_, len(areas)
    )
    squares, parks = np.flatnonzero(is_square), np.flatnonzero(~is_square)
    nodes = read_nodes(pbf, areas.find_nodes(np.arange(len(areas))))
    with (
        ColumnWriter(folder, "line_areas", np.int64) as numbers,
        ColumnWriter(folder, "line_ends", np.int64, 2) as ends,
    ):
        over_squares = np.zeros((0, 2), np.int64)
        if len(squares):
            of_squares, over_squares = _draw_squares(folder, areas, squares, nodes)
            numbers.append(of_squares)
            ends.append(over_squares)
        parks, boxes = _find_whole(areas, parks, nodes)
        if len(parks):
            surroundings, drawn = Surroundings(pbf, folder, boxes), Drawn(over_squares)
            for number, box in zip(parks.tolist(), boxes, strict=True):
                around = surroundings.find(_widen(box))
                of_park = areas.nodes(number)
                around.positions |= name_positions(of_park, *nodes.find(of_park))
                lines = draw_park(areas[number], around, drawn)
                numbers.append(np.full(len(lines), number))
                ends.append(np.array(lines, np.int64).reshape(-1, 2))
    return Lines(areas, open_column(folder, "line_areas"), open_column(folder, "line_ends"))


def _draw_squares(folder: Path, areas: Areas, squares: Ints, nodes: Nodes) -> tuple[Ints, Ints]:
    """Return the numbers of squares, and the lines over them.

    Where a street runs along the rim, or two areas touch, one edge between two nodes is enough: the
    engine tells the edges back apart by their ends and lengths.
    """
    entrances = Entrances(folder, areas, squares, areas.find_nodes(squares))
    with (
        ColumnWriter(folder, "square_areas", np.int64) as numbers,
        ColumnWriter(folder, "square_ends", np.int64, 2) as ends,
        ColumnWriter(folder, "square_pairs", np.uint64) as pairs,
    ):
        for number in squares.tolist():
            rims = areas.nodes(number)
            positions = name_positions(rims, *nodes.find(rims))
            drawn = draw_lines(areas[number], positions, entrances.among(rims))
            lines = np.array(drawn, np.int64).reshape(-1, 2)
            of_lines = entrances.pair(lines)
            is_free = ~entrances.is_taken(of_lines)
            numbers.append(np.full(int(is_free.sum()), number))
            ends.append(lines[is_free])
            pairs.append(of_lines[is_free])
    first = np.unique(open_column(folder, "square_pairs"), return_index=True)[1]
    first.sort()
    return open_column(folder, "square_areas")[first], open_column(folder, "square_ends")[first]


def _find_whole(areas: Areas, parks: Ints, nodes: Nodes) -> tuple[Ints, Boxes]:
    """Return the parks that are whole in the extract and on one side of the antimeridian.

    With them come their boxes.
    """
    whole = np.zeros(len(parks), np.bool_)
    boxes = np.zeros((len(parks), 4), np.int32)
    for at, number in enumerate(parks.tolist()):
        lon, lat = nodes.find(areas.nodes(number))
        whole[at] = (lon != NOWHERE).all() and int(lon.max()) - int(lon.min()) < _MOST_WIDE
        outer = areas.outer_node_count(number)
        lon, lat = lon[:outer], lat[:outer]
        boxes[at] = lon.min(), lat.min(), lon.max(), lat.max()
    return parks[whole], boxes[whole]


def _widen(box: NDArray[np.int32]) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = box.tolist()
    around = round(AROUND_DEG * E7)
    return x0 - around, y0 - around, x1 + around, y1 + around
