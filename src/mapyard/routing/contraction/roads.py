"""Positions onto roads, whole arrays at once: the engine's rule over arrays of our own.

A position goes to the nearest place of the nearest road that its mode may use in either direction.
At a crossing (the place is a road's end, or the position within a meter of one) it
belongs to all roads there: to the beginning of those that lead away, to the end of the others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import haversine_m
from mapyard.routing.contraction.costs import FERRY as FERRY_USE
from mapyard.routing.contraction.costs import RAIL_FERRY as RAIL_FERRY_USE
from mapyard.routing.contraction.costs import Bools, Floats
from mapyard.routing.contraction.places import End, Places
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.kernels import address, load_kernels, map_array
from mapyard.routing.modes import Mode
from mapyard.store.columns import ranges
from mapyard.store.rtree import build_levels, hilbert_order

#: Latitudes beyond which nothing is looked for, as the engine's distances break down.
_MAX_LAT: Final = 89.9
_CM: Final = 100
#: Points of a line for which there is room at first.
_LINE_POINTS: Final = 2048
#: Places of a position for which there is room at first.
_PLACES: Final = 16
#: Crossings that can be reached from a road of a connected network; the engine's default.
CONNECTED_CROSSINGS: Final = 50
#: How far into its road a position is moved from a crossing.
_STEP_M: Final = 2.0
#: Kinds of edges that a route tells of.
TOLL, FERRY, MOTORWAY = 1, 2, 4
_MOTORWAY_CLASS: Final = 0
#: What `end` says of a place, as snap.c has it.
_BEGIN, _END = 1, 2


@dataclass(frozen=True, slots=True)
class RoadArrays:
    """Roads in Hilbert order, and the edges at each junction."""

    box: NDArray[np.int32]  #: (roads, 4): west, south, east, north in millionths of a degree
    #: Bits of the modes that it is open to, and of those that it is connected for as well.
    modes: NDArray[np.uint8]
    upper_box: NDArray[np.int32]
    upper_modes: NDArray[np.uint8]
    first: NDArray[np.uint32]  #: of its points, and one more
    point: NDArray[np.int32]  #: (points, 2): longitude, latitude
    edge: NDArray[np.int32]  #: (roads, 2): along its points, and back
    edge_modes: NDArray[np.uint8]  #: per edge, the same bits
    opposing: NDArray[np.int32]  #: per edge
    road: NDArray[np.int32]  #: per edge twice its road, and 1 more where it leads back; -1: none
    kinds: NDArray[np.uint8]  #: per edge, of TOLL, FERRY, MOTORWAY
    first_out: NDArray[np.uint32]  #: per junction, and one more
    out: NDArray[np.int32]  #: edges that begin there


#: Per mode the bit of roads that are open to it, and of those that are connected as well.
MODE_BITS: Final[dict[Mode, tuple[int, int]]] = {
    "auto": (1, 8), "foot": (2, 16), "bicycle": (4, 32), "truck": (64, 128),
}  # fmt: skip

#: Arrays that tell where a mode can go.
_OPEN_NAMES: Final = ("modes", "upper_modes", "edge_modes")
_NAMES: Final = (
    "box", "modes", "upper_box", "upper_modes", "first", "point", "edge", "length", "start", "end",
    "edge_modes", "opposing", "road", "kinds", "first_out", "out",
)  # fmt: skip
_KINDS: Final[dict[str, type[np.generic]]] = {
    "modes": np.uint8, "upper_modes": np.uint8, "first": np.uint32, "edge_modes": np.uint8,
    "kinds": np.uint8, "first_out": np.uint32,
}  # fmt: skip


class Line(NamedTuple):
    """A line along edges."""

    positions: Floats  #: (n, 2), longitude and latitude
    last: Ints  #: per edge the point at which it is left
    kinds: int  #: of TOLL, FERRY, MOTORWAY, those of any edge


class _Struct(ctypes.Structure):
    """`Roads` of kernels.h."""

    _fields_ = [("count", ctypes.c_int64), *[(name, ctypes.c_void_p) for name in _NAMES]]


def write_roads(
    graph: RoadGraph,
    open_to: Mapping[Mode, Bools],
    usable: Bools,
    connected: Mapping[Mode, NDArray[np.uint8]],
    data: Path,
    folder: Path,
) -> None:
    """Write the roads of a graph whose tiles are `data`.

    `open_to` has per mode the edges that positions go to, `usable` those that ways go over in any,
    `connected` whether they lead on (1) and are led to (2).
    """
    edge_modes = np.zeros(len(graph.start), np.uint8)
    for mode, edges in open_to.items():
        bit, lead = (np.uint8(bits) for bits in MODE_BITS[mode])
        edge_modes |= edges * bit
        edge_modes |= (edges & (connected[mode] == 3)) * lead
    inside = np.flatnonzero((graph.end >= 0) & (graph.edges.shortcut == 0))
    back = graph.opposing[inside]
    # Of both edges of a road, the one along its shape; of twins that both are, the first.
    along = graph.edges.forward[inside] > graph.edges.forward[back]
    along |= (graph.edges.forward[inside] == graph.edges.forward[back]) & (inside < back)
    edge = np.column_stack([inside, back])[along]
    edge = edge[((edge_modes > 0) | usable)[edge].any(axis=1)]
    records = graph.record[edge[:, 0]].astype(np.int64)
    first, point = _decode(data, records)
    turned = graph.edges.forward[edge[:, 0]] == 0
    edge[turned] = edge[turned, ::-1]
    box = _surround(first, point)
    order = hilbert_order(
        box[:, 0].astype(np.int64) + box[:, 2], box[:, 1].astype(np.int64) + box[:, 3]
    )
    counts = np.diff(first.astype(np.int64))[order]
    modes = np.bitwise_or.reduce(edge_modes[edge], axis=1)[order]
    levels = build_levels(box[order])
    junction = graph.junction[graph.start]
    # Where a junction lies on several levels, the engine begins with the roads of the lowest class.
    out = inside[np.lexsort((inside, -graph.edge_ids.find_levels(inside), junction[inside]))]
    count_out = np.bincount(junction[inside], minlength=len(graph.lon))
    arrays = RoadArrays(
        box=box[order],
        modes=modes,
        upper_box=np.concatenate(levels) if levels else np.empty((0, 4), np.int32),
        upper_modes=_join_modes(modes, len(levels)),
        first=np.append(0, np.cumsum(counts)).astype(np.uint32),
        point=point[ranges(first[order], counts)],
        edge=edge[order].astype(np.int32),
        edge_modes=edge_modes,
        opposing=graph.opposing.astype(np.int32),
        road=_number_edges(edge[order], len(graph.start)),
        kinds=_find_kinds(graph),
        first_out=np.append(0, np.cumsum(count_out)).astype(np.uint32),
        out=out.astype(np.int32),
    )
    for field in fields(arrays):
        np.save(folder / f"roads-{field.name}.npy", getattr(arrays, field.name))


def _number_edges(edge: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    road = np.full(count, -1, np.int32)
    for way in (1, 0):
        road[edge[:, way]] = 2 * np.arange(len(edge)) + way
    return road


def _find_kinds(graph: RoadGraph) -> NDArray[np.uint8]:
    kinds = np.zeros(len(graph.start), np.uint8)
    for bit, of in (
        (TOLL, graph.edges.toll == 1),
        (FERRY, np.isin(graph.edges.use, (FERRY_USE, RAIL_FERRY_USE))),
        (MOTORWAY, graph.edges.road_class == _MOTORWAY_CLASS),
    ):
        kinds |= of * np.uint8(bit)
    return kinds


def _decode(data: Path, records: Ints) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    tar = np.memmap(data, np.uint8, "r")
    records = np.ascontiguousarray(records, np.int64)
    first = np.zeros(len(records) + 1, np.uint32)
    where = address(tar, np.uint8), len(tar), len(records), address(records, np.int64)
    kernels = load_kernels()
    point = np.empty((0, 2), np.int32)
    for _ in range(2):  # first the numbers of points, then the points
        into = address(point, np.int32) if len(point) else None
        if kernels.decode_shapes(*where, address(first, np.uint32), into):
            raise ValueError("a road without a shape")
        if not len(point):
            point = np.empty((int(first[-1]), 2), np.int32)
    return first, point


def _surround(first: NDArray[np.uint32], point: NDArray[np.int32]) -> NDArray[np.int32]:
    if len(first) == 1:
        return np.empty((0, 4), np.int32)
    if (np.diff(first.astype(np.int64)) < 2).any():
        raise ValueError("a road without a shape")
    starts = first[:-1].astype(np.int64)
    low, high = (bound.reduceat(point, starts) for bound in (np.minimum, np.maximum))
    return np.column_stack([low, high]).astype(np.int32)


def _join_modes(modes: NDArray[np.uint8], levels: int) -> NDArray[np.uint8]:
    joined = [np.empty(0, np.uint8)]
    for _ in range(levels):
        modes = np.bitwise_or.reduceat(modes, np.arange(0, len(modes), 16))
        joined.append(modes)
    return np.concatenate(joined)


def write_open(
    roads: Path, mode: Mode, closed: Bools, connected: NDArray[np.uint8], folder: Path
) -> None:
    """Write, into a folder of its own, where a mode can go when some more edges are closed.

    It is what differs from the arrays in the folder `roads`.
    """
    arrays = _map_arrays(roads)
    bit, lead = (np.uint8(bits) for bits in MODE_BITS[mode])
    edge_modes = np.array(arrays.edge_modes)
    edge_modes[closed] &= ~bit
    leads = (connected == 3) & ((edge_modes & bit) > 0)
    edge_modes = edge_modes & ~lead | leads * lead
    modes = np.bitwise_or.reduce(edge_modes[arrays.edge], axis=1)
    written = {
        "edge_modes": edge_modes,
        "modes": modes,
        "upper_modes": _join_modes(modes, len(build_levels(arrays.box))),
    }
    for name in _OPEN_NAMES:
        np.save(folder / f"roads-{name}.npy", written[name])


def _map_arrays(folder: Path, open_folder: Path | None = None) -> RoadArrays:
    return RoadArrays(
        **{
            name: map_array(
                (open_folder if open_folder and name in _OPEN_NAMES else folder)
                / f"roads-{name}.npy"
            )
            for name in (field.name for field in fields(RoadArrays))
        }
    )


class Roads:
    """Roads that positions are put onto. Threads may share them."""

    def __init__(
        self,
        folder: Path,
        length_cm: NDArray[np.int32],
        ends: tuple[NDArray[np.int32], NDArray[np.int32]],
        open_folder: Path | None = None,
    ) -> None:
        """Map what was written; `ends` are the junctions of each edge.

        `open_folder` has what `write_open` wrote.
        """
        self._arrays = _map_arrays(folder, open_folder)
        self._length_cm = length_cm
        self._ends = ends
        count, edges = len(self._arrays.modes), len(length_cm)
        sizes = {
            "box": 4 * count, "modes": count, "first": count + 1, "edge": 2 * count,
            "upper_box": 4 * len(self._arrays.upper_modes),
            **dict.fromkeys(("start", "end", "edge_modes", "opposing", "road", "kinds"), edges),
        }  # fmt: skip
        lengths = {"length": length_cm, "start": ends[0], "end": ends[1]}
        self._struct = _Struct(
            count,
            *(
                address(
                    lengths[name] if name in lengths else getattr(self._arrays, name),
                    _KINDS.get(name, np.int32), sizes.get(name),
                )
                for name in _NAMES
            ),
        )  # fmt: skip
        #: Where C finds the roads.
        self.where = ctypes.addressof(self._struct)

    def find(self, positions: Floats, mode: Mode, radius_m: float) -> Places:
        """Return the places of positions (n, 2), none for those farther than the radius."""
        count, room = len(positions), _PLACES * len(positions)
        positions = np.ascontiguousarray(positions, np.float64)
        while True:
            position, edge = np.empty(room, np.int64), np.empty(room, np.int32)
            share, away_m, at = np.empty(room), np.empty(room), np.empty((room, 2))
            used = load_kernels().find_places(
                self.where, count, address(positions, np.float64, 2 * count),
                MODE_BITS[mode][0], radius_m, address(position, np.int64),
                address(edge, np.int32), address(share, np.float64),
                address(away_m, np.float64), address(at, np.float64), room,
            )  # fmt: skip
            if used < 0:
                raise ValueError("more roads than can be searched")
            if used <= room:
                break
            room = used
        return Places(count, position[:used], edge[:used], share[:used], away_m[:used], at[:used])

    def find_near(
        self, position: Floats, mode: Mode, radius_m: float, room: int
    ) -> tuple[Ints, Floats]:
        """Return an edge of each of the nearest roads, nearest first, and its nearest place (n, 2).

        Of both edges of a road it is one that the mode may use.
        """
        bit, _ = MODE_BITS[mode]
        roads, at = np.empty(room, np.int32), np.empty((room, 2))
        lon, lat = position.tolist()
        if abs(lat) > _MAX_LAT:
            return roads[:0], at[:0]
        count = load_kernels().find_near(
            self.where, lon, lat, bit, radius_m,
            address(roads, np.int32), address(at, np.float64), room,
        )  # fmt: skip
        if count < 0:
            raise MemoryError("no memory is left to look for roads")
        edge = np.sort(self._arrays.edge[roads[:count]], axis=1)
        is_open = (self._arrays.edge_modes[edge[:, 0]] & bit) > 0
        return np.where(is_open, edge[:, 0], edge[:, 1]), at[:count]

    def find_connected(self, position: Floats, mode: Mode, radius_m: float) -> Floats | None:
        """Return the nearest place (2) on a road that leads on and is led to.

        It is a step away from a crossing, where other roads are as near.
        """
        _, bit = MODE_BITS[mode]
        roads, ends, _, along, at = self._snap(position[None, :], bit, radius_m)
        road, along_m = int(roads[0]), float(along[0])
        if road < 0:
            return None
        if ends[0]:  # of a crossing's roads the first one, as the engine has them
            junction = self._ends[int(ends[0] == _END)][self._arrays.edge[road, 0]]
            first, last = self._arrays.first_out[junction : junction + 2]
            for edge in self._arrays.out[first:last].tolist():
                back = self._arrays.opposing[edge]
                if (self._arrays.edge_modes[edge] | self._arrays.edge_modes[back]) & bit:
                    road, is_last = divmod(int(self._arrays.road[edge]), 2)
                    along_m = np.inf if is_last else 0.0
                    break
        first, last = self._arrays.first[road], self._arrays.first[road + 1]
        lon, lat = (self._arrays.point[first:last] * 1e-6).T
        points_m = np.append(0.0, np.cumsum(haversine_m(lon[:-1], lat[:-1], lon[1:], lat[1:])))
        step_m = min(_STEP_M, points_m[-1] / 2)
        if step_m < along_m < points_m[-1] - step_m:
            return at[0]
        place_m = np.clip(along_m, step_m, points_m[-1] - step_m)
        return np.array([np.interp(place_m, points_m, lon), np.interp(place_m, points_m, lat)])

    def find_line(self, edges: NDArray[np.int32], ends: tuple[End, End]) -> Line:
        """Return the line along edges, from a place on the first to one on the last."""
        begin, end = ends
        share = np.array([begin.share, end.share])
        at = np.array([begin.lon, begin.lat, end.lon, end.lat])
        last = np.empty(len(edges), np.int64)
        kinds = ctypes.c_int32()
        room = _LINE_POINTS
        while True:
            line = np.empty((room, 2))
            count = load_kernels().join_line(
                self.where, len(edges), address(edges, np.int32), address(share, np.float64),
                address(at, np.float64), address(line, np.float64), address(last, np.int64), room,
                ctypes.addressof(kinds),
            )  # fmt: skip
            if count < 0:
                raise ValueError("an edge without a road")
            if count <= room:
                return Line(line[:count], last, kinds.value)
            room = count

    def find_codes(self, edges: Ints) -> NDArray[np.int32]:
        """Return per edge twice its road, and 1 more where it leads back on it."""
        codes = self._arrays.road.take(edges)
        if codes.size and codes.min() < 0:
            raise ValueError("an edge without a road")
        return codes

    def find_ferries(self, edges: Ints) -> Bools:
        """Return which of the edges are ferries."""
        return (self._arrays.kinds.take(edges) & FERRY) > 0

    def surround(
        self, codes: NDArray[np.int32], center: tuple[float, float]
    ) -> tuple[float, float, float, float]:
        """Return the box around roads by code and a place: west, south, east, north in degrees."""
        lon, lat = (round(degrees * 1e6) for degrees in center)
        box = np.array([lon, lat, lon, lat], np.int32)
        load_kernels().surround(
            self.where, len(codes), address(codes, np.int32), address(box, np.int32)
        )
        west, south, east, north = (box * 1e-6).tolist()
        return west, south, east, north

    def _snap(
        self, positions: Floats, bits: int, radius_m: float
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], Floats, Floats, Floats]:
        """Return per position its road or -1, whether its end, metres away and along, the place."""
        lon, lat = (np.ascontiguousarray(positions[:, axis], np.float64) for axis in (0, 1))
        count = len(lon)
        road, end = np.empty(count, np.int32), np.empty(count, np.uint8)
        away_m, along_m, at = np.empty(count), np.empty(count), np.empty((count, 2))
        if load_kernels().snap(
            self.where, count, address(lon, np.float64),
            address(lat, np.float64), bits, radius_m, address(road, np.int32),
            address(away_m, np.float64), address(along_m, np.float64), address(at, np.float64),
            address(end, np.uint8),
        ):  # fmt: skip
            raise ValueError("more roads than can be searched")
        return road, end, away_m, along_m, at
