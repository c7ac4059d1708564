"""Which regions hold each element of an extract, and which one owns it.

Which regions hold an element is a row of bits. Nodes get theirs by position; they go up to ways and
relations that touch them, and down again to all that these are made of. All arrays of the length of
the file's nodes or ways are mapped files, so memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.fleet.areas import Area, find_owners
from mapyard.fleet.wholes import IN_PARKS, PARKS, ROADS, WHOLES, Whole, choose
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.pbf import Block, iter_blocks
from mapyard.routing.tagging.around import CELL, CELLS_AROUND, find_cells

#: Elements looked at in one go.
_CHUNK: Final = 4_000_000
_NOWHERE: Final = 2**31 - 1
KINDS: Final = ("nodes", "ways", "relations")

type Ints = NDArray[np.int64]
type Bits = NDArray[np.uint64]
#: x0, y0, x1, y1 each.
type Boxes = NDArray[np.int32]


class Extra(NamedTuple):
    """An extract beside the regions: what some tags choose, of the whole map or of an area."""

    choice: Whole
    area: Area
    #: The area with its margin; None: the whole map.
    grown: Area | None = None


class Column:
    """A growing array in a file, mapped when whole."""

    def __init__(self, folder: Path, name: str, dtype: Any, width: int = 0) -> None:
        self._path = folder / name
        self._file = self._path.open("wb")
        self._dtype, self._width = np.dtype(dtype), width

    def add(self, values: NDArray[Any]) -> None:
        """Append some values."""
        self._file.write(np.ascontiguousarray(values, self._dtype).tobytes())

    def map(self) -> NDArray[Any]:
        """Return all values, to be read and changed in place."""
        self._file.close()
        size = self._path.stat().st_size // self._dtype.itemsize
        if not size:
            return np.empty((0, self._width) if self._width else 0, self._dtype)
        shape = (size // self._width, self._width) if self._width else (size,)
        return np.memmap(self._path, self._dtype, "r+", shape=shape)


class Nodes:
    """Ids and positions of all nodes, in the order of ids."""

    def __init__(self, source: Path, scratch: Path) -> None:
        ids, lon, lat = (
            Column(scratch, name, kind)
            for name, kind in (("node_ids", np.int64), ("lon", np.int32), ("lat", np.int32))
        )
        wholes = Column(scratch, "node_wholes", np.bool_, len(WHOLES))
        self.newest_s = 0
        for block in iter_blocks(source):
            if block.type != NODE:
                break
            assert block.lon is not None and block.lat is not None
            self.newest_s = max(self.newest_s, _find_newest(block))
            ids.add(block.ids)
            lon.add(block.lon)
            lat.add(block.lat)
            wholes.add(_choose(block))
        self.ids, self.lon, self.lat = ids.map(), lon.map(), lat.map()
        #: Which of `WHOLES` each is chosen for by its tags.
        self.wholes = wholes.map()
        if not len(self.ids):
            raise InvalidRequest("the extract has no nodes")
        self.bounds = (
            int(self.lon.min()), int(self.lat.min()), int(self.lon.max()), int(self.lat.max()),
        )  # fmt: skip

    def iter_positions(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Yield positions, some at a time."""
        for start in range(0, len(self.ids), _CHUNK):
            yield self.lon[start : start + _CHUNK], self.lat[start : start + _CHUNK]


def _find_newest(block: Block) -> int:
    """Return when the newest element was changed, seconds since 1970; 0 where it is unknown."""
    return int(block.timestamp.max(initial=0)) if block.timestamp is not None else 0


def _choose(block: Block) -> NDArray[np.bool_]:
    return np.column_stack([choose(block, whole) for whole in WHOLES])


def find_rows(ids: Ints, wanted: Ints) -> Ints:
    """Return the places of ids in a sorted array, -1 for those that are not there."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[places] == wanted, places, -1)


def gather_boxes(
    x0: NDArray[np.int32], y0: NDArray[np.int32], x1: NDArray[np.int32], y1: NDArray[np.int32],
    owner: Ints, count: int,
) -> Boxes:  # fmt: skip
    """Return the box around all boxes of each owner; one without any has x0 > x1."""
    boxes = np.empty((count, 4), np.int32)
    boxes[:, :2], boxes[:, 2:] = _NOWHERE, -_NOWHERE
    np.minimum.at(boxes[:, 0], owner, x0)
    np.minimum.at(boxes[:, 1], owner, y0)
    np.maximum.at(boxes[:, 2], owner, x1)
    np.maximum.at(boxes[:, 3], owner, y1)
    return boxes


def meets(boxes: Boxes, box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
    """Return which boxes have a position in common with a half-open one."""
    west, south, east, north = box
    return (
        (boxes[:, 0] < east) & (boxes[:, 2] >= west) & (boxes[:, 1] < north)
        & (boxes[:, 3] >= south) & (boxes[:, 0] <= boxes[:, 2])
    )  # fmt: skip


def _find_area_relations(block: Block) -> NDArray[np.bool_]:
    """Return which relations are of a type that makes areas."""
    texts = {text: at for at, text in enumerate(block.strings)}
    key = texts.get(b"type", -1)
    values = [texts[text] for text in (b"multipolygon", b"boundary") if text in texts]
    found = np.zeros(len(block.ids), np.bool_)
    is_area = (block.tag_keys == key) & np.isin(block.tag_values, values)
    relation_of = np.repeat(np.arange(len(block.ids)), np.diff(block.tag_offsets))
    found[relation_of[is_area]] = True
    return found


class Holders:
    """Which regions hold each element (`bits`), and which one owns it (`owners`)."""

    def __init__(
        self,
        source: Path,
        scratch: Path,
        nodes: Nodes,
        areas: Sequence[Area],
        margin_m: float,
        extras: Sequence[Extra],
        say: Callable[[str], None],
    ) -> None:
        self._count = len(areas)
        self._words = -(-(self._count + len(extras)) // 64)
        #: Regions of roads, with their margins, by their numbers.
        self._roads = {
            number: extra.grown
            for number, extra in enumerate(extras, start=self._count) if extra.grown is not None
        }  # fmt: skip
        #: The bits of regions: those of `WHOLES` do not go up from parts to what has them.
        self._of_regions = np.zeros(self._words, np.uint64)
        for number in range(self._count):
            self._of_regions[number // 64] |= np.uint64(1 << number % 64)
        self._grown = [area.grow(margin_m) for area in areas]
        self._nodes = nodes
        self.ids: list[Ints] = [nodes.ids]
        self.bits: list[Bits] = []
        self.owners: list[NDArray[np.int16]] = []
        self.newest_s = nodes.newest_s
        self._place_nodes(scratch, nodes, areas)
        say("reading ways")
        self._raise_to_ways(source, scratch)
        say("reading relations")
        self._read_relations(source)
        if self._roads:
            say("reading what lies in parks")
            self._mark_in_parks(source)
        self._raise_to_relations()
        self._lower_to_members()
        self._mark_of_roads()
        say("completing ways")
        self._lower_to_nodes(source)
        self._find_keepers(is_whole=all(area.shape is None for area in areas))
        self.left_out = {
            kind: int(sum(
                (~(self._part(bits, start) & self._of_regions).any(axis=1)).sum()
                for start in range(0, len(bits), _CHUNK)
            ))
            for kind, bits in zip(KINDS, self.bits, strict=True)
        }  # fmt: skip

    @staticmethod
    def _part(values: NDArray[Any], start: int) -> NDArray[Any]:
        return values[start : start + _CHUNK]

    def _mark(self, bits: Bits, wholes: NDArray[np.bool_]) -> None:
        """Set the bits of `WHOLES` for elements that their own tags choose."""
        for place in range(len(WHOLES)):
            number = self._count + place
            bits[wholes[:, place], number // 64] |= np.uint64(1 << number % 64)

    def _place_nodes(self, scratch: Path, nodes: Nodes, areas: Sequence[Area]) -> None:
        bits = Column(scratch, "node_bits", np.uint64, self._words)
        owners = Column(scratch, "node_owners", np.int16)
        start = 0
        for lon, lat in nodes.iter_positions():
            own = find_owners(areas, lon, lat)
            owners.add(own)
            made = np.zeros((len(lon), self._words), np.uint64)
            for number, area in enumerate(self._grown):
                held = area.holds(lon, lat) | (own == number)
                made[held, number // 64] |= np.uint64(1 << number % 64)
            self._mark(made, self._part(nodes.wholes, start))
            start += len(lon)
            bits.add(made)
        self.bits.append(bits.map())
        self.owners.append(owners.map())

    def _raise_to_ways(self, source: Path, scratch: Path) -> None:
        ids = Column(scratch, "way_ids", np.int64)
        bits = Column(scratch, "way_bits", np.uint64, self._words)
        owners = Column(scratch, "way_owners", np.int16)
        boxes = Column(scratch, "way_boxes", np.int32, 4)
        parks: list[Boxes] = []
        for block in iter_blocks(source):
            if block.type != WAY:
                continue
            assert block.offsets is not None and block.refs is not None
            ids.add(block.ids)
            self.newest_s = max(self.newest_s, _find_newest(block))
            rows = find_rows(self.ids[NODE], block.refs)
            way_of = np.repeat(np.arange(len(block.ids)), np.diff(block.offsets))
            made, own = self._gather(NODE, rows, way_of, len(block.ids))
            of_ways = self._find_boxes(rows, way_of, len(block.ids))
            self._add_passing(block, rows, way_of, of_ways, made)
            if self._roads:
                parks.append(of_ways[choose(block, PARKS)])
            self._mark(made, _choose(block))
            bits.add(made)
            owners.add(own)
            boxes.add(of_ways)
        self._way_boxes = boxes.map()
        self._park_boxes = parks
        self.ids.append(ids.map())
        self.bits.append(bits.map())
        self.owners.append(owners.map())

    def _find_boxes(self, rows: Ints, way_of: Ints, count: int) -> Boxes:
        """Return the box of each way, the empty box of those without nodes."""
        known = rows >= 0
        lon, lat = self._nodes.lon[rows[known]], self._nodes.lat[rows[known]]
        return gather_boxes(lon, lat, lon, lat, way_of[known], count)

    def _add_passing(
        self, block: Block, rows: Ints, way_of: Ints, boxes: Boxes, bits: Bits
    ) -> None:
        """Add the regions that ways pass or enclose without a node there; all of those of roads.

        A closed way counts with its whole box, for it may be an area around a region; of others,
        each piece between two nodes counts with its box.
        """
        refs = block.refs
        assert refs is not None
        known = np.flatnonzero(rows >= 0)
        first, second = known[:-1], known[1:]
        same = way_of[first] == way_of[second]
        first, second = first[same], second[same]
        lon, lat = self._nodes.lon, self._nodes.lat
        x0, y0 = lon[rows[first]], lat[rows[first]]
        x1, y1 = lon[rows[second]], lat[rows[second]]
        pieces = np.stack(
            [np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1)], 1
        )
        piece_of = way_of[first]
        ends = np.flatnonzero(np.diff(way_of, append=-1) != 0)
        starts = np.flatnonzero(np.diff(way_of, prepend=-1) != 0)
        closed = way_of[starts[(refs[starts] == refs[ends]) & (ends - starts > 2)]]
        for number, area in enumerate(self._grown):
            bit = np.uint64(1 << number % 64)
            bits[piece_of[meets(pieces, area.box)], number // 64] |= bit
            bits[closed[meets(boxes[closed], area.box)], number // 64] |= bit
        is_road = choose(block, ROADS) if self._roads else np.zeros(0, np.bool_)
        for number, area in self._roads.items():
            touches = np.zeros(len(boxes), np.bool_)
            touches[piece_of[meets(pieces, area.box)]] = True
            touches[closed[meets(boxes[closed], area.box)]] = True
            bits[touches & is_road, number // 64] |= np.uint64(1 << number % 64)

    def _gather(
        self, kind: int, rows: Ints, parent_of: Ints, count: int
    ) -> tuple[Bits, NDArray[np.int16]]:
        """Return the bits of parents out of those of their parts, and the first part's owner."""
        known = rows >= 0
        rows, parent_of = rows[known], parent_of[known]
        bits = np.zeros((count, self._words), np.uint64)
        np.bitwise_or.at(bits, parent_of, self.bits[kind][rows] & self._of_regions)
        owners = np.full(count, -1, np.int16)
        own = self.owners[kind][rows]
        # Backwards, so that the first one that has an owner is written last.
        owned = np.flatnonzero(own >= 0)[::-1]
        owners[parent_of[owned]] = own[owned]
        return bits, owners

    def _read_relations(self, source: Path) -> None:
        blocks = [block for block in iter_blocks(source) if block.type == RELATION]
        self.newest_s = max(self.newest_s, *map(_find_newest, blocks), 0)
        none = np.empty(0, np.int64)
        ids = np.concatenate([none, *(block.ids for block in blocks)])
        self.ids.append(ids)
        self._chosen = np.concatenate(
            [np.empty((0, len(WHOLES)), np.bool_), *(_choose(block) for block in blocks)]
        )
        self._is_area, self._is_road, self._is_park, self._is_in_parks = (
            np.concatenate([np.empty(0, np.bool_), *map(find, blocks)])
            for find in (
                _find_area_relations,
                partial(choose, whole=ROADS),
                partial(choose, whole=PARKS),
                partial(choose, whole=IN_PARKS),
            )
        )
        members, kinds, parents = [none], [none], [none]
        first = 0
        for block in blocks:
            assert block.offsets is not None and block.refs is not None
            assert block.member_types is not None
            members.append(block.refs)
            kinds.append(block.member_types)
            parents.append(first + np.repeat(np.arange(len(block.ids)), np.diff(block.offsets)))
            first += len(block.ids)
        member, kind, parent = (np.concatenate(part) for part in (members, kinds, parents))
        #: Per type of members: row of the relation, row of the member; in the order of members.
        self._members: list[tuple[Ints, Ints, Ints]] = []
        order = np.arange(len(member))
        for of_type in (NODE, WAY, RELATION):
            places = np.flatnonzero(kind == of_type)
            rows = find_rows(self.ids[of_type], member[places])
            known = rows >= 0
            self._members.append((parent[places][known], rows[known], order[places][known]))

    def _mark_in_parks(self, source: Path) -> None:
        """Give regions of roads what people do not walk over, in parks and beside them.

        The ways that lie there are found as the build of the roads finds them.
        """
        parent, rows, _ = self._members[WAY]
        x0, y0, x1, y1 = self._way_boxes[rows].T
        boxes = gather_boxes(x0, y0, x1, y1, parent, len(self.ids[RELATION]))
        parks = np.concatenate([*self._park_boxes, boxes[self._is_park & self._is_area]])
        cells = find_cells(parks[parks[:, 0] <= parks[:, 2]])
        is_near = np.zeros(len(self.ids[WAY]), np.bool_)
        start = 0
        for block in iter_blocks(source):
            if block.type != WAY:
                continue
            assert block.offsets is not None and block.refs is not None
            rows_of = find_rows(self.ids[NODE], block.refs)
            way_of = np.repeat(np.arange(len(block.ids)), np.diff(block.offsets))
            known = rows_of >= 0
            lon = self._nodes.lon[rows_of[known]].astype(np.int64)
            lat = self._nodes.lat[rows_of[known]].astype(np.int64)
            inside = find_rows(cells, lon // CELL * CELLS_AROUND + lat // CELL) >= 0
            near = np.zeros(len(block.ids), np.bool_)
            near[way_of[known][inside]] = True
            part = slice(start, start + len(block.ids))
            is_near[part] = near
            chosen = near & choose(block, IN_PARKS)
            for number, area in self._roads.items():
                held = chosen & meets(self._way_boxes[part], area.box)
                self.bits[WAY][part][held, number // 64] |= np.uint64(1 << number % 64)
            start += len(block.ids)
        has_near = np.zeros(len(self.ids[RELATION]), np.bool_)
        has_near[parent[is_near[rows]]] = True
        self._is_in_parks &= has_near

    def _mark_of_roads(self) -> None:
        """Give regions of roads the turns and routes of their ways, without what these lack."""
        parent, rows, _ = self._members[WAY]
        for number in self._roads:
            word, bit = number // 64, np.uint64(1 << number % 64)
            has = np.zeros(len(self.ids[RELATION]), np.bool_)
            has[parent[(self.bits[WAY][rows, word] & bit) != 0]] = True
            self.bits[RELATION][has & self._is_road, word] |= bit

    def _raise_to_relations(self) -> None:
        count = len(self.ids[RELATION])
        bits = np.zeros((count, self._words), np.uint64)
        first = np.full(count, np.iinfo(np.int64).max)
        owners = np.full(count, -1, np.int16)
        for kind in (NODE, WAY):
            parent, rows, order = self._members[kind]
            np.bitwise_or.at(bits, parent, self.bits[kind][rows] & self._of_regions)
            own = self.owners[kind][rows]
            for at in np.flatnonzero((own >= 0) & (order < first[parent]))[::-1].tolist():
                if order[at] < first[parent[at]]:
                    first[parent[at]], owners[parent[at]] = order[at], own[at]
        # An area may lie around a region, with nothing of its outline there.
        parent, rows, _ = self._members[WAY]
        of_ways = self._way_boxes[rows]
        x0, y0, x1, y1 = of_ways.T
        boxes = gather_boxes(x0, y0, x1, y1, parent, count)
        for number, area in enumerate(self._grown):
            around = self._is_area & meets(boxes, area.box)
            bits[around, number // 64] |= np.uint64(1 << number % 64)
        parent, rows, _ = self._members[RELATION]
        while True:  # relations of relations, as deep as they go
            before = bits.copy(), owners.copy()
            np.bitwise_or.at(bits, parent, bits[rows])
            lacking = np.flatnonzero((owners[parent] < 0) & (owners[rows] >= 0))[::-1]
            owners[parent[lacking]] = owners[rows[lacking]]
            if (bits == before[0]).all() and (owners == before[1]).all():
                break
        self._mark(bits, self._chosen)
        # Of areas and borders all is held, so that they close.
        of_roads = self._is_area & (self._is_road | self._is_in_parks)
        for number, area in self._roads.items():
            bits[of_roads & meets(boxes, area.box), number // 64] |= np.uint64(1 << number % 64)
        self.bits.append(bits)
        self.owners.append(owners)

    def _lower_to_members(self) -> None:
        parent, rows, _ = self._members[RELATION]
        bits = self.bits[RELATION]
        while True:
            before = bits.copy()
            np.bitwise_or.at(bits, rows, bits[parent])
            if (bits == before).all():
                break
        for kind in (WAY, NODE):
            parent, rows, _ = self._members[kind]
            np.bitwise_or.at(self.bits[kind], rows, bits[parent])

    def _find_keepers(self, *, is_whole: bool) -> None:
        """Give each element without an owner to the first region that holds it.

        What no region holds, since nothing of it is in the file, is kept by the first region; not
        where areas were drawn, for it may lie outside of them (`is_whole` is false then).
        """
        for bits, owners in zip(self.bits, self.owners, strict=True):
            for start in range(0, len(owners), _CHUNK):
                held, own = self._part(bits, start), self._part(owners, start)
                lost = ~(held & self._of_regions).any(axis=1)
                if is_whole:
                    held[lost, 0] |= np.uint64(1)
                else:  # neither are they part of what is over all regions
                    held[lost] = 0
                of_regions = held & self._of_regions
                for word in range(self._words):
                    rows = np.flatnonzero((own < 0) & (of_regions[:, word] != 0))
                    lowest = of_regions[rows, word] & (~of_regions[rows, word] + np.uint64(1))
                    own[rows] = word * 64 + np.log2(lowest.astype(np.float64)).astype(np.int16)

    def _lower_to_nodes(self, source: Path) -> None:
        start = 0
        for block in iter_blocks(source):
            if block.type != WAY:
                continue
            assert block.offsets is not None and block.refs is not None
            bits = self.bits[WAY][start : start + len(block.ids)]
            start += len(block.ids)
            rows = find_rows(self.ids[NODE], block.refs)
            way_of = np.repeat(np.arange(len(block.ids)), np.diff(block.offsets))
            known = rows >= 0
            np.bitwise_or.at(self.bits[NODE], rows[known], bits[way_of[known]])

    def iter_held(self, kind: int, number: int) -> Iterator[tuple[Ints, NDArray[np.bool_]]]:
        """Yield the ids of what a region holds of a type, and which are guests, some at a time."""
        word, bit = number // 64, np.uint64(1 << number % 64)
        for start in range(0, len(self.ids[kind]), _CHUNK):
            held = (self._part(self.bits[kind], start)[:, word] & bit) != 0
            yield (
                self._part(self.ids[kind], start)[held],
                self._part(self.owners[kind], start)[held] != number,
            )

    def count_held(self, count: int) -> Ints:
        """Return how many elements each of the first `count` extracts holds, of all types."""
        counts = np.zeros(count, np.int64)
        for bits in self.bits:
            for start in range(0, len(bits), _CHUNK):
                some = self._part(bits, start)
                for number in range(count):
                    bit = np.uint64(1 << number % 64)
                    counts[number] += np.count_nonzero(some[:, number // 64] & bit)
        return counts

    def iter_ids(self, kind: int, number: int) -> Iterator[Ints]:
        """Yield the ids of what a region holds of a type, ascending."""
        return (ids for ids, _ in self.iter_held(kind, number))
