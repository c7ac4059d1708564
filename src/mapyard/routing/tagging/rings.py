"""Closed ways and multipolygons of a file, in columns: one at a time becomes an object.

What a country has of squares, platforms and parks does not fit into memory as objects, so tags and
rings of nodes lie in mapped files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from mapyard.osm.elements import RELATION, WAY
from mapyard.osm.pbf import Block, iter_blocks, iter_positions
from mapyard.routing.tagging.blocks import (
    Bools,
    Ints,
    Tags,
    find_rows_with_keys,
    is_in,
    read_refs,
    read_tags,
)
from mapyard.store.columns import ColumnWriter, open_column, ranges
from mapyard.store.distinct import distinct

type Ring = Sequence[int]
#: lon, lat in degrees by the id of a node.
type Positions = dict[int, tuple[float, float]]

#: Keys of ways that lead somewhere; an area with one is such a way along its rim, too.
PLATFORM_KEYS: Final = ("railway", "public_transport", "highway")
#: One degree in stored units.
E7: Final = 10_000_000
#: What a node has for a position that the file lacks.
NOWHERE: Final = -(1 << 31)


@dataclass(slots=True)
class Area:
    """An area to walk on, as rings of node ids: the outer ones, then the holes."""

    way_id: int
    tags: Tags
    outers: list[Ring]
    holes: list[Ring] = field(default_factory=list)
    #: Whether it is made of several ways, which are no ways to walk on by themselves.
    is_composed: bool = False

    @property
    def is_way(self) -> bool:
        """Return whether its rim is a way to walk on already."""
        return not self.is_composed and not self.tags.keys().isdisjoint(PLATFORM_KEYS)

    @property
    def rings(self) -> list[Ring]:
        """All rings, the outer ones first."""
        return [*self.outers, *self.holes]


class Rows:
    """Writes runs of values, row by row, as two columns: the values and where each run begins."""

    def __init__(self, files: ExitStack, folder: Path, name: str, kind: DTypeLike) -> None:
        self._kind = kind
        self._values = files.enter_context(ColumnWriter(folder, name, kind))
        self._offsets = files.enter_context(ColumnWriter(folder, f"{name}_offsets", np.int64))
        self._offsets.append(np.zeros(1, np.int64))

    def append(self, values: NDArray[np.generic] | Sequence[int]) -> None:
        """Append a row."""
        self._values.append(np.asarray(values, self._kind))
        self._offsets.append(np.array([self._values.length], np.int64))

    def take(self, block: Block, rows: Ints) -> None:
        """Append the refs of rows of a block."""
        assert block.refs is not None and block.offsets is not None
        starts = block.offsets[rows]
        lengths = block.offsets[rows + 1] - starts
        self._offsets.append(self._values.length + np.cumsum(lengths))
        self._values.append(block.refs[ranges(starts, lengths)])


class Areas:
    """Areas in the order of the file."""

    def __init__(self, folder: Path) -> None:
        self.way_ids: Ints = open_column(folder, "area_ways")
        self._outer_counts = open_column(folder, "area_outers")
        self._composed = open_column(folder, "area_composed")
        self._rings = open_column(folder, "area_rings")
        self._tags = open_column(folder, "area_tags")
        self._tag_offsets = open_column(folder, "area_tags_offsets")
        self._nodes = open_column(folder, "ring_nodes")
        self._node_offsets = open_column(folder, "ring_nodes_offsets")
        #: The ways that multipolygons are made of, sorted.
        self.member_ways: Ints = distinct(open_column(folder, "member_ways"))

    def __len__(self) -> int:
        return len(self.way_ids)

    def tags(self, number: int) -> Tags:
        """Return the tags of an area."""
        start, stop = self._tag_offsets[number : number + 2]
        tags: Tags = msgspec.msgpack.decode(self._tags[start:stop].tobytes(), type=dict[str, str])
        return tags

    def nodes(self, number: int) -> Ints:
        """Return the nodes of all rings of an area."""
        first, stop = self._rings[number : number + 2]
        return self._nodes[self._node_offsets[first] : self._node_offsets[stop]]

    def __getitem__(self, number: int) -> Area:
        first, stop = self._rings[number : number + 2]
        edges = self._node_offsets[first : stop + 1]
        nodes = self.nodes(number)
        rings = [part.tolist() for part in np.split(nodes, edges[1:-1] - edges[0])]
        count = int(self._outer_counts[number])
        return Area(
            int(self.way_ids[number]),
            self.tags(number),
            rings[:count],
            rings[count:],
            bool(self._composed[number]),
        )

    def way_id(self, number: int) -> int:
        """Return the id of the way that lines over an area belong to."""
        return int(self.way_ids[number])

    def outer_node_count(self, number: int) -> int:
        """Return how many of the nodes of an area are of its outer rings, which come first."""
        first = self._rings[number]
        edges = self._node_offsets
        return int(edges[first + self._outer_counts[number]] - edges[first])

    def find_nodes(self, numbers: Ints) -> Ints:
        """Return the nodes of the rings of some areas, each once, sorted."""
        ring_count = np.diff(self._rings)
        wanted = np.zeros(len(self), np.bool_)
        wanted[numbers] = True
        of_ring = np.repeat(wanted, ring_count)
        return distinct(self._nodes[np.repeat(of_ring, np.diff(self._node_offsets))])


class _Writer:
    def __init__(self, files: ExitStack, folder: Path) -> None:
        def column(name: str, kind: DTypeLike) -> ColumnWriter:
            return files.enter_context(ColumnWriter(folder, name, kind))

        self._ways = column("area_ways", np.int64)
        self._outers = column("area_outers", np.int64)
        self._composed = column("area_composed", np.bool_)
        self._rings = column("area_rings", np.int64)
        self._rings.append(np.zeros(1, np.int64))
        self.members = column("member_ways", np.int64)
        self._tags = Rows(files, folder, "area_tags", np.uint8)
        self._nodes = Rows(files, folder, "ring_nodes", np.int64)
        self._count = 0

    def add(self, area: Area) -> None:
        for ring in area.rings:
            self._nodes.append(ring)
        self._count += len(area.rings)
        self._rings.append(np.array([self._count]))
        self._ways.append(np.array([area.way_id]))
        self._outers.append(np.array([len(area.outers)]))
        self._composed.append(np.array([area.is_composed]))
        self._tags.append(np.frombuffer(msgspec.msgpack.encode(area.tags), np.uint8))


def read_areas(
    pbf: Path, folder: Path, keys: tuple[str, ...], is_wanted: Callable[[Tags], bool]
) -> Areas:
    """Return the closed ways and multipolygons with one of the keys that are wanted.

    In the same pass, the ways with one of `PLATFORM_KEYS` are written: `road_ids`, `road_refs`.
    """
    _read_relations(pbf, folder, keys, is_wanted)
    members = open_column(folder, "relation_ways")
    members = distinct(np.where(members < 0, -1 - members, members))
    with ExitStack() as files:
        writer = _Writer(files, folder)
        with ExitStack() as others:
            part_ids = others.enter_context(ColumnWriter(folder, "part_ids", np.int64))
            part_nodes = Rows(others, folder, "part_nodes", np.int64)
            road_ids = others.enter_context(ColumnWriter(folder, "road_ids", np.int64))
            road_refs = Rows(others, folder, "road_refs", np.int64)
            for block in iter_blocks(pbf, (WAY,), with_metadata=False):
                assert block.offsets is not None
                _add_closed(block, keys, is_wanted, writer)
                parts = np.flatnonzero(is_in(block.ids, members) & (np.diff(block.offsets) > 0))
                part_ids.append(block.ids[parts])
                part_nodes.take(block, parts)
                roads = find_rows_with_keys(block, PLATFORM_KEYS)
                road_ids.append(block.ids[roads])
                road_refs.take(block, roads)
        for area in _compose(folder, writer):
            writer.add(area)
    return Areas(folder)


def _read_relations(
    pbf: Path, folder: Path, keys: tuple[str, ...], is_wanted: Callable[[Tags], bool]
) -> None:
    """Write tags and ways of multipolygons, the ways of holes as -1 - their id."""
    with ExitStack() as files:
        tags = Rows(files, folder, "relation_tags", np.uint8)
        ways = Rows(files, folder, "relation_ways", np.int64)
        for block in iter_blocks(pbf, (RELATION,), with_metadata=False):
            for row in find_rows_with_keys(block, keys).tolist():
                told = read_tags(block, row)
                if told.get("type") == "multipolygon" and is_wanted(told):
                    ids, is_inner = read_member_ways(block, row)
                    ways.append(np.where(is_inner, -1 - ids, ids))
                    tags.append(np.frombuffer(msgspec.msgpack.encode(told), np.uint8))


def read_member_ways(block: Block, row: int) -> tuple[Ints, Bools]:
    """Return the ids of the ways of a relation, and which of them are of holes."""
    assert block.member_types is not None and block.member_roles is not None
    assert block.offsets is not None
    run = slice(int(block.offsets[row]), int(block.offsets[row + 1]))
    is_way = block.member_types[run] == WAY
    roles = block.member_roles[run][is_way].tolist()
    is_inner = np.array([block.strings[role] == b"inner" for role in roles], np.bool_)
    return read_refs(block, row)[is_way], is_inner


def _add_closed(
    block: Block, keys: tuple[str, ...], is_wanted: Callable[[Tags], bool], writer: _Writer
) -> None:
    assert block.refs is not None and block.offsets is not None
    rows = find_rows_with_keys(block, keys)
    starts, stops = block.offsets[rows], block.offsets[rows + 1]
    rows = rows[stops > starts]
    is_closed = block.refs[block.offsets[rows]] == block.refs[block.offsets[rows + 1] - 1]
    for row in rows[is_closed].tolist():
        tags = read_tags(block, row)
        if is_wanted(tags):
            writer.add(Area(int(block.ids[row]), tags, [read_refs(block, row).tolist()]))


def _compose(folder: Path, writer: _Writer) -> Iterator[Area]:
    """Yield the multipolygons, put together of their ways."""
    members = open_column(folder, "relation_ways")
    if not len(members):
        return
    offsets = open_column(folder, "relation_ways_offsets")
    tags = open_column(folder, "relation_tags")
    tag_offsets = open_column(folder, "relation_tags_offsets")
    ids, rings = open_column(folder, "part_ids"), open_column(folder, "part_nodes")
    ring_offsets = open_column(folder, "part_nodes_offsets")
    for number in range(len(offsets) - 1):
        outer_parts: list[Ring] = []
        inner_parts: list[Ring] = []
        way_id = None
        ways = members[offsets[number] : offsets[number + 1]]
        for ref in ways.tolist():
            at = int(np.searchsorted(ids, max(ref, -1 - ref)))
            if at == len(ids) or ids[at] != max(ref, -1 - ref):
                continue
            part = rings[ring_offsets[at] : ring_offsets[at + 1]].tolist()
            (inner_parts if ref < 0 else outer_parts).append(part)
            if way_id is None and ref >= 0:
                way_id = ref
        outers = join_rings(outer_parts)
        if outers and way_id is not None:
            told = tags[tag_offsets[number] : tag_offsets[number + 1]].tobytes()
            writer.members.append(np.where(ways < 0, -1 - ways, ways))
            yield Area(
                way_id,
                msgspec.msgpack.decode(told, type=dict[str, str]),
                outers,
                join_rings(inner_parts),
                is_composed=True,
            )


def join_rings(ways: list[Ring]) -> list[Ring]:
    """Return closed rings out of ways that share ends; what stays open is left out."""
    rings = [way for way in ways if way[0] == way[-1]]
    open_ = [way for way in ways if way[0] != way[-1]]
    while open_:
        ring = list(open_.pop())
        while ring[0] != ring[-1]:
            at = next((n for n, way in enumerate(open_) if ring[-1] in (way[0], way[-1])), None)
            if at is None:
                break
            way = open_.pop(at)
            ring += way[1:] if way[0] == ring[-1] else way[-2::-1]
        if ring[0] == ring[-1]:
            rings.append(ring)
    return rings


@dataclass(slots=True)
class Nodes:
    """Nodes by their sorted ids, with their positions (1e-7 degree)."""

    ids: Ints
    lon: NDArray[np.int32]
    lat: NDArray[np.int32]

    def find(self, nodes: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the positions of nodes that are all among these."""
        at = np.searchsorted(self.ids, nodes)
        return self.lon[at], self.lat[at]


def read_nodes(pbf: Path, ids: Ints) -> Nodes:
    """Return nodes by their sorted ids; those that the file lacks are at `NOWHERE`."""
    nodes = Nodes(ids, np.full(len(ids), NOWHERE, np.int32), np.full(len(ids), NOWHERE, np.int32))
    for of_block, lon, lat in iter_positions(pbf) if len(ids) else ():
        if not len(of_block):
            continue
        first, stop = np.searchsorted(ids, (of_block[0], of_block[-1] + 1))
        at = np.minimum(np.searchsorted(of_block, ids[first:stop]), len(of_block) - 1)
        there = of_block[at] == ids[first:stop]
        nodes.lon[first:stop][there] = lon[at[there]]
        nodes.lat[first:stop][there] = lat[at[there]]
    return nodes


def name_positions(ids: Ints, lon: NDArray[np.int32], lat: NDArray[np.int32]) -> Positions:
    """Return positions in degrees by the id of their node, without nodes that are nowhere."""
    known = lon != NOWHERE
    degrees = zip((lon[known] / E7).tolist(), (lat[known] / E7).tolist(), strict=True)
    return dict(zip(ids[known].tolist(), degrees, strict=True))
