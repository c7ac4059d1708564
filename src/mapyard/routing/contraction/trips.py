"""A way between two positions with its line, in one call of `kernels/trip.c`.

It does what three calls do one after the other: places, way, line. Between these, arrays would
take longer than the search.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Final, NamedTuple

import numpy as np

from mapyard.routing.contraction.places import End
from mapyard.routing.contraction.roads import MODE_BITS, Line, Roads
from mapyard.routing.contraction.way import FoundStruct, Network, Way
from mapyard.routing.kernels import address, load_kernels
from mapyard.routing.modes import Mode

#: Edges of a way, and points of its line, that there is room for at first.
_EDGES: Final = 4_096
_POINTS: Final = 16_384
#: What C says where these are too few, and of arrays that do not fit together.
_LONGER, _DAMAGED = 2, -2


class Trip(NamedTuple):
    """A way and the line along it."""

    way: Way
    line: Line


class _TripStruct(ctypes.Structure):
    """`Trip` of kernels.h."""

    _fields_ = [
        ("position", ctypes.c_double * 4),
        ("radius_m", ctypes.c_double),
        ("modes", ctypes.c_int64),
        ("found", FoundStruct),
        ("share", ctypes.c_double * 2),
        ("at", ctypes.c_double * 4),
        ("points", ctypes.c_int64),
        ("kinds", ctypes.c_int32),
    ]


class _Room:
    """Where C writes a trip; no more of it is touched than the trip is long."""

    def __init__(self, edges: int = _EDGES, points: int = _POINTS) -> None:
        self.edges, self.points = edges, points
        self.trip = _TripStruct()
        self.path = np.empty((2, edges), np.int32)
        self.last = np.empty(edges, np.int64)
        self.line = np.empty((points, 2))
        vertices = address(self.path, np.int32)
        self.where = (
            ctypes.addressof(self.trip), vertices, vertices + self.path.strides[0], edges,
            address(self.line, np.float64), address(self.last, np.int64), points,
        )  # fmt: skip


class _Rooms(threading.local):
    """The room of each thread."""

    def __init__(self) -> None:
        self.own = _Room()


_rooms = _Rooms()


def find_trip(
    roads: Roads,
    network: Network,
    mode: Mode,
    origin: tuple[float, float],
    destination: tuple[float, float],
    radius_m: float,
) -> Trip | None:
    """Return the trip between positions (longitude, latitude) on roads within the radius.

    None where one of them has none, or there is no way.
    """
    room, result = _rooms.own, _LONGER
    while result == _LONGER:
        trip = room.trip
        trip.position[:] = (*origin, *destination)
        trip.radius_m, trip.modes = radius_m, MODE_BITS[mode][0]
        result = load_kernels().find_trip(roads.where, network.where, *room.where)
        if result == _LONGER:
            room = _Room(max(room.edges, trip.found.count), max(room.points, trip.points))
    if result < 0:
        if result == _DAMAGED:
            raise ValueError("roads that cannot be searched or drawn")
        raise MemoryError("no memory is left for a search")
    if not result:
        return None
    found, (begin_lon, begin_lat, end_lon, end_lat) = trip.found, trip.at
    begin, end = trip.share
    count = found.count
    vertices, edges = room.path[:, :count].copy()
    ends = End(begin, begin_lon, begin_lat), End(end, end_lon, end_lat)
    return Trip(
        network.make_way(found, vertices, edges, ends),
        Line(room.line[: trip.points].copy(), room.last[:count].copy(), trip.kinds),
    )
