"""The road graph inside the engine's tiles, as flat columns.

A tile is a header, then arrays of fixed records packed into 64-bit words. The layout is the
engine's (valhalla/baldr: graphtileheader.h, nodeinfo.h, directededge.h, nodetransition.h,
accessrestriction.h, complexrestriction.h); only the fields that costs need are read. Whoever
changes it breaks `_check`, or the comparison with routes at the end of a build.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from valhalla.baldr import GraphTileHeader

from mapyard.routing.contraction.levels import read_level
from mapyard.routing.contraction.times import is_active
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct

type Ints = NDArray[np.integer[Any]]
type Words = NDArray[np.uint64]

_HEADER_BYTES: Final = 272
#: Where the header keeps the places of restrictions, of records of edges, and of texts, in bytes.
_RESTRICTIONS_AT, _RESTRICTIONS_END_AT, _EDGE_TEXTS_AT, _TEXTS_AT = 96, 100, 104, 108
EDGE_TEXTS_MASK: Final = (1 << 25) - 1
_ROAD_LEVELS: Final = 3
#: A graph id is level and tile in its low bits, then the index of the edge or node.
_TILE_BITS: Final = 25
_ID_BITS: Final = 46
_NODE_WORDS, EDGE_WORDS = 4, 6
#: A kind of node.
ELEVATOR_NODE: Final = 14

#: Field → (word, lowest bit, bits).
_NODE_FIELDS: Final = {
    "access": (0, 52, 12), "edge_count": (1, 21, 7), "kind": (1, 53, 4), "density": (1, 57, 4),
    "signal": (1, 61, 1), "first_transition": (2, 0, 21), "transition_count": (2, 21, 3),
    "road_count": (2, 40, 3), "drive_on_right": (2, 43, 1), "tagged_access": (2, 44, 1),
    "private_access": (2, 45, 1),
}  # fmt: skip
EDGE_FIELDS: Final = {
    "banned_turns": (0, 46, 8), "opposing_index": (0, 54, 7), "forward": (0, 61, 1),
    "ends_restriction": (1, 49, 12),
    "destination_only": (1, 62, 1), "not_thru": (1, 63, 1), "speed_kmh": (2, 0, 8),
    "truck_speed_kmh": (2, 24, 8), "destination_only_hgv": (3, 60, 1),
    "same_name": (2, 32, 8), "use": (2, 40, 6), "lane_count": (2, 46, 4), "density": (2, 50, 4),
    "road_class": (2, 54, 3), "surface": (2, 57, 3), "toll": (2, 60, 1),
    "roundabout": (2, 61, 1), "truck_route": (2, 62, 1), "access": (3, 0, 12),
    "hiking": (3, 34, 3), "cycle_lane": (3, 37, 2),
    "cycle_network": (3, 39, 1), "use_sidepath": (3, 40, 1), "dismount": (3, 41, 1),
    "sidewalk_left": (3, 42, 1), "sidewalk_right": (3, 43, 1), "shoulder": (3, 44, 1),
    "internal": (3, 48, 1), "tunnel": (3, 49, 1), "bridge": (3, 50, 1),
    "lit": (3, 59, 1), "turn_types": (4, 0, 24), "roads_left": (4, 24, 8),
    "length_m": (4, 32, 24), "grade": (4, 56, 4), "stop_impacts": (5, 0, 24),
    "roads_right": (5, 24, 8), "local_index": (5, 32, 7), "opposing_local_index": (5, 39, 7),
    "shortcut": (5, 60, 1), "named": (5, 62, 1), "link": (5, 63, 1),
}  # fmt: skip


class UnknownTiles(Exception):  # noqa: N818 - says what was met
    """The tiles are not laid out as this module reads them."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Fields of all nodes, or of all edges, one array each: `columns.use`, `columns.length_m`.

    They have at least 16 bits and a sign, so that the smallest ones can be subtracted as well.
    """

    arrays: dict[str, Ints]

    def __getattr__(self, name: str) -> Ints:
        try:
            return self.arrays[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True, slots=True)
class EdgeIds:
    """The engine's ids of edges."""

    tile_ids: Ints  #: ascending
    tile_starts: Ints  #: per tile, its first edge

    def find(self, graph_ids: Ints) -> Ints:
        """Return the numbers of edges by id, -1 where there is none."""
        return _resolve(graph_ids, self.tile_ids, self.tile_starts)

    def locate(self, edge: int) -> tuple[int, int]:
        """Return the tile that an edge lies in, and its place there."""
        tile = int(self.tile_starts.searchsorted(edge, side="right")) - 1
        return tile, edge - int(self.tile_starts[tile])

    def make_id(self, tile: int, within: int) -> int:
        """Return the id of an edge by its place."""
        return int(self.tile_ids[tile]) | within << _TILE_BITS

    def find_levels(self, edges: Ints) -> Ints:
        """Return the levels of edges by number: 0 has the major roads, 2 the local ones."""
        tile = np.searchsorted(self.tile_starts, edges, side="right") - 1
        return self.tile_ids[tile] & 7


@dataclass(frozen=True, slots=True)
class RoadGraph:
    """All nodes and directed edges of the three road levels, numbered from 0.

    A junction that lies on several levels has a node on each; `junction` is one number for them.
    """

    nodes: Columns
    edges: Columns
    lon: NDArray[np.float64]  #: per node
    lat: NDArray[np.float64]
    headings: Words  #: per node, 8 bits for each of up to 8 roads, in 255ths of a circle
    junction: Ints  #: per node
    start: Ints  #: per edge, its first node
    end: Ints  #: per edge, its last node, -1 off the extract
    opposing: Ints  #: per edge, the edge back, -1 off the extract
    level: NDArray[np.float64]  #: per edge at an elevator, its floor, else NaN
    limits: Ints  #: rows of edge, kind of limit, modes, value
    spares_ends: NDArray[np.bool_]  #: per limit, whether not for destinations on the road
    restrictions: list[tuple[int, list[int]]]  #: modes, and edges that may not follow each other
    timed_turns: Ints  #: nodes after whose edge a turn is forbidden at certain hours
    record: Ints  #: per edge, where in the tar its record of way, names and shape lies
    tile_places: NDArray[np.int64]  #: per tile, where in the tar its edges, records and texts begin
    edge_ids: EdgeIds


@dataclass(frozen=True, slots=True)
class _Tile:
    graph_id: int
    offset: int  #: in the tar
    edges_at: int  #: in the tar
    lon: float
    lat: float
    nodes: Words
    transitions: Words
    edges: Words
    limits: Words
    raw: NDArray[np.uint8]

    def get_offset(self, at: int) -> int:
        """Return a place within the tile that its header keeps, in bytes."""
        return int(self.raw[at : at + 4].view(np.uint32)[0])


def _stay(array: Any) -> Any:
    return array


def read_graph(tiles_tar: Path, keep: Callable[[Any], Any] = _stay) -> RoadGraph:
    """Read the graph from a tar of tiles; raise `UnknownTiles` where the layout is another one.

    `keep` gets each column of the graph and returns what is held instead of it, such as a copy in a
    mapped file.
    """
    tiles = sorted(_iter_tiles(tiles_tar), key=lambda tile: tile.graph_id)
    if not tiles:
        raise UnknownTiles("no tiles of roads")
    node_starts = _count_up([len(tile.nodes) for tile in tiles])
    edge_starts = _count_up([len(tile.edges) for tile in tiles])
    tile_ids = np.array([tile.graph_id for tile in tiles], np.int64)
    node_words = np.concatenate([tile.nodes for tile in tiles])
    edge_words = np.concatenate([tile.edges for tile in tiles])
    nodes = _unpack(node_words, _NODE_FIELDS, keep)
    edges = _unpack(edge_words, EDGE_FIELDS, keep)

    count = nodes.edge_count
    start = keep(np.repeat(np.arange(len(count)), count))
    first_edge = np.cumsum(count) - count
    end = keep(_resolve(_bits(edge_words[:, 0], 0, _ID_BITS), tile_ids, node_starts))
    if len(start) != len(end):
        raise UnknownTiles("nodes and edges do not fit together")
    opposing = keep(np.where(end >= 0, first_edge[end] + edges.opposing_index, -1))
    _pair_twins(opposing, start, end, edges.length_m)
    limits = [
        np.column_stack(
            [
                _bits(tile.limits[:, 0], 0, 22) + first,
                _bits(tile.limits[:, 0], 22, 6),
                _bits(tile.limits[:, 0], 28, 12),
                tile.limits[:, 1].astype(np.int64),
            ]
        )
        for tile, first in zip(tiles, edge_starts, strict=True)
    ]
    lon, lat = _read_positions(tiles, node_words)
    at_elevator = (nodes.kind[start] == ELEVATOR_NODE) | (
        (end >= 0) & (nodes.kind[end] == ELEVATOR_NODE)
    )
    graph = RoadGraph(
        nodes=nodes,
        edges=edges,
        lon=keep(lon),
        lat=keep(lat),
        headings=keep(node_words[:, 3].copy()),
        junction=keep(_find_junctions(tiles, nodes, tile_ids, node_starts)),
        start=start,
        end=end,
        opposing=opposing,
        level=keep(_read_levels(tiles, np.flatnonzero(at_elevator), edge_starts)),
        limits=np.concatenate(limits),
        spares_ends=np.concatenate([_bits(tile.limits[:, 0], 40, 1) == 1 for tile in tiles]),
        restrictions=[
            (modes, path)
            for tile in tiles
            for modes, path in _read_restrictions(tile, tile_ids, edge_starts)
        ],
        timed_turns=_find_timed_turns(tiles, end, tile_ids, edge_starts),
        record=keep(_find_records(tiles, edge_words)),
        tile_places=np.array(
            [
                (
                    tile.edges_at,
                    tile.offset + tile.get_offset(_EDGE_TEXTS_AT),
                    tile.offset + tile.get_offset(_TEXTS_AT),
                )
                for tile in tiles
            ],
            np.int64,
        ),
        edge_ids=EdgeIds(tile_ids, edge_starts),
    )
    _check(graph)
    return graph


def _iter_tiles(tiles_tar: Path) -> Iterator[_Tile]:
    data = np.memmap(tiles_tar, np.uint8, "r")
    with tarfile.open(tiles_tar) as tar:
        places = [(m.offset_data, m.size) for m in tar if m.name.endswith(".gph")]
    for offset, size in places:
        raw = data[offset : offset + size]
        header = GraphTileHeader.from_bytes(raw[:_HEADER_BYTES].tobytes())
        if header.byte_size() != _HEADER_BYTES:
            raise UnknownTiles(f"tile headers of {header.byte_size()} bytes")
        if header.graphid.level() < _ROAD_LEVELS:
            yield _read_tile(raw, header, offset)


def _read_tile(raw: NDArray[np.uint8], header: Any, offset: int) -> _Tile:
    at = _HEADER_BYTES

    def take(count: int, words: int) -> Words:
        nonlocal at
        begin, at = at, at + count * words * 8
        return raw[begin:at].view(np.uint64).reshape(count, words)

    nodes = take(header.nodecount, _NODE_WORDS)
    transitions = take(header.transitioncount, 1)
    edges_at = offset + at
    edges = take(header.directededgecount, EDGE_WORDS)
    if header.has_ext_directededge:
        take(header.directededgecount, 1)
    limits = take(header.access_restriction_count, 2)
    lon, lat = header.base_ll
    return _Tile(
        header.graphid.value, offset, edges_at, lon, lat, nodes, transitions.ravel(), edges, limits,
        raw,
    )  # fmt: skip


def _read_positions(
    tiles: list[_Tile], words: Words
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return longitude and latitude per node: offsets from its tile's corner, in two parts."""
    sizes = [len(tile.nodes) for tile in tiles]
    west = np.repeat([tile.lon for tile in tiles], sizes)
    south = np.repeat([tile.lat for tile in tiles], sizes)
    word = words[:, 0]
    lat = south + _bits(word, 0, 22) * 1e-6 + _bits(word, 22, 4) * 1e-7
    lon = west + _bits(word, 26, 22) * 1e-6 + _bits(word, 48, 4) * 1e-7
    return lon, lat


def _find_junctions(tiles: list[_Tile], nodes: Columns, tile_ids: Ints, node_starts: Ints) -> Ints:
    """Return per node the lowest number of the nodes at its place: each knows all the others."""
    sizes = [len(tile.nodes) for tile in tiles]
    transition_starts = _count_up([len(tile.transitions) for tile in tiles])
    words = np.concatenate([tile.transitions for tile in tiles])
    other = _resolve(_bits(words, 0, _ID_BITS), tile_ids, node_starts)
    count = nodes.transition_count
    owner = np.repeat(np.arange(len(count)), count)
    first = nodes.first_transition + np.repeat(transition_starts, sizes)
    at = ranges(first, count)
    junction = np.arange(len(count))
    known = other[at] >= 0
    np.minimum.at(junction, owner[known], other[at][known])
    return junction


def _read_levels(tiles: list[_Tile], edges: Ints, edge_starts: Ints) -> NDArray[np.float64]:
    """Return the floors of some edges, NaN for all others."""
    level = np.full(sum(len(tile.edges) for tile in tiles), np.nan)
    tile_of = np.searchsorted(edge_starts, edges, side="right") - 1
    for edge, number in zip(edges.tolist(), tile_of.tolist(), strict=True):
        tile = tiles[number]
        word = int(tile.edges[edge - edge_starts[number], 1])
        record = tile.get_offset(_EDGE_TEXTS_AT) + (word & EDGE_TEXTS_MASK)
        level[edge] = read_level(tile.raw, record, tile.get_offset(_TEXTS_AT))
    return level


def _find_records(tiles: list[_Tile], edge_words: Words) -> Ints:
    records = [tile.offset + tile.get_offset(_EDGE_TEXTS_AT) for tile in tiles]
    first = np.repeat(np.array(records, np.int64), [len(tile.edges) for tile in tiles])
    return first + (edge_words[:, 1] & np.uint64(EDGE_TEXTS_MASK)).astype(np.int64)


def _read_restrictions(
    tile: _Tile, tile_ids: Ints, edge_starts: Ints
) -> Iterator[tuple[int, list[int]]]:
    """Yield turn restrictions over several edges: modes, and the edges in order of travel.

    Of those that hold at certain hours, the ones that do at the assumed time.
    """
    for origin, destination, rest, via in _iter_restrictions(tile):
        path = np.concatenate([[origin], via[::-1], [destination]])
        edges = _resolve(_bits(path, 0, _ID_BITS), tile_ids, edge_starts)
        if (edges >= 0).all() and _holds(int(origin), int(destination), int(rest)):
            yield int(rest) >> 4 & 4095, edges.tolist()


def _iter_restrictions(tile: _Tile) -> Iterator[tuple[np.uint64, np.uint64, np.uint64, Words]]:
    begin, end = tile.get_offset(_RESTRICTIONS_AT), tile.get_offset(_RESTRICTIONS_END_AT)
    words, at = tile.raw[begin:end].view(np.uint64), 0
    while at < len(words):
        origin, destination, rest = words[at : at + 3]
        via_count = int(rest >> np.uint64(16)) & 31
        yield origin, destination, rest, words[at + 3 : at + 3 + via_count]
        at += 3 + via_count


def _find_timed_turns(tiles: list[_Tile], end: Ints, tile_ids: Ints, edge_starts: Ints) -> Ints:
    origins = [
        origin
        for tile in tiles
        for origin, _, _, _ in _iter_restrictions(tile)
        if int(origin) >> _ID_BITS & 1
    ]
    edges = _resolve(_bits(np.array(origins, np.uint64), 0, _ID_BITS), tile_ids, edge_starts)
    nodes = end[edges[edges >= 0]]
    return distinct(nodes[nodes >= 0])


def _holds(origin: int, destination: int, rest: int) -> bool:
    """Return whether a turn restriction holds at the assumed time, by its three words."""
    if not origin >> _ID_BITS & 1:
        return True
    return is_active(
        rest >> 21 & 127,
        (origin >> 59 & 31, rest >> 28 & 63),
        (destination >> 59 & 31, rest >> 34 & 63),
        (origin >> 52 & 15, origin >> 47 & 31),
        (destination >> 52 & 15, destination >> 47 & 31),
    )


def _pair_twins(opposing: Ints, start: Ints, end: Ints, length_m: Ints) -> None:
    """Pair edges and the edges back, in place, where two ways lead along the same nodes.

    The engine tells edges back apart by their ends and lengths, so both twins have one of them.
    """
    inside = np.flatnonzero((opposing >= 0) & (opposing < len(opposing)))
    alone = inside[opposing[opposing[inside]] != inside].tolist()
    waiting: dict[tuple[int, int, int], list[int]] = {}
    for edge in alone:
        begin, stop, long_m = int(start[edge]), int(end[edge]), int(length_m[edge])
        twins = waiting.get((stop, begin, long_m))
        if twins:
            back = twins.pop()
            opposing[edge], opposing[back] = back, edge
        else:
            waiting.setdefault((begin, stop, long_m), []).append(edge)


def _check(graph: RoadGraph) -> None:
    """Raise `UnknownTiles` unless edges and the edges back agree on what both must know."""
    inside = np.flatnonzero(graph.end >= 0)
    back = graph.opposing[inside]
    if back.max(initial=-1) >= len(graph.end) or not (
        (graph.opposing[back] == inside).all()
        and (graph.end[back] == graph.start[inside]).all()
        and (graph.edges.length_m[back] == graph.edges.length_m[inside]).all()
    ):
        raise UnknownTiles("edges and the edges back do not agree")


def _unpack(
    words: Words, fields: dict[str, tuple[int, int, int]], keep: Callable[[Any], Any]
) -> Columns:
    return Columns(
        {
            name: keep(
                _bits(words[:, word], low, width).astype(np.int16 if width < 16 else np.int32)
            )
            for name, (word, low, width) in fields.items()
        }
    )


def _bits(words: Words, low: int, width: int) -> Ints:
    return ((words >> np.uint64(low)) & np.uint64((1 << width) - 1)).astype(np.int64)


def _count_up(sizes: list[int]) -> Ints:
    return np.cumsum([0, *sizes[:-1]])


def _resolve(graph_ids: Ints, tile_ids: Ints, starts: Ints) -> Ints:
    """Return the numbers of nodes or edges by graph id, -1 where their tile is not here."""
    tile = graph_ids & ((1 << _TILE_BITS) - 1)
    slot = np.minimum(np.searchsorted(tile_ids, tile), len(tile_ids) - 1)
    return np.where(tile_ids[slot] == tile, starts[slot] + (graph_ids >> _TILE_BITS), -1)
