"""Graphs of roads: as the engine alone has them, to compare what is prepared with; made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from mapyard.geo.sphere import haversine_m
from mapyard.routing import Engine, open_routing
from mapyard.routing.contraction.roads import Roads, write_roads
from mapyard.routing.contraction.tiles import EdgeIds

UNIT_DEG = 1e-6
_PREPARED = ("matrix.json", "hierarchy")


def open_plain(graph: Path, folder: Path) -> Engine:
    """Open a graph without what is prepared of it, through links in a folder of its own."""
    folder.mkdir()
    for path in graph.iterdir():
        if path.name not in _PREPARED:
            (folder / path.name).symlink_to(path)
    return open_routing(folder)


def encode(points):
    """A record without texts, and the shape of (lon, lat) in millionths of a degree."""
    shape, before = bytearray(), (0, 0)
    for lon, lat in points:
        for step in (lat - before[0], lon - before[1]):
            number = ~(step << 1) if step < 0 else step << 1
            while number > 127:
                shape.append(number & 127 | 128)
                number >>= 7
            shape.append(number)
        before = (lat, lon)
    return bytes(8) + (len(shape) << 4).to_bytes(4, "little") + bytes(shape)


def build_roads(folder, roads, modes, connected=3, usable=None, *, from_hub=False):
    """Roads of points, both directions open to the modes in bits.

    No two share a junction, or all begin at one.
    """
    data, records = b"", []
    for points in roads:
        records += [len(data)] * 2
        data += encode(points)
    (folder / "tiles.tar").write_bytes(data or b"\0")
    count = 2 * len(roads)
    ends = np.arange(count)
    start = np.where(ends % 2 == 0, 0, ends) if from_hub else ends
    length_m = [_measure(points) for points in roads for _ in range(2)]
    graph = SimpleNamespace(
        start=start, end=start[ends ^ 1], opposing=ends ^ 1, junction=ends,
        record=np.array(records, int), lon=np.zeros(count),
        edge_ids=EdgeIds(np.array([2]), np.array([0])),
        edges=SimpleNamespace(
            shortcut=np.zeros(count), forward=1 - (ends & 1), toll=np.zeros(count),
            use=np.zeros(count), road_class=np.ones(count),
        ),
    )  # fmt: skip
    of_edge = np.repeat(modes, 2)
    open_to = {"auto": of_edge & 1 > 0, "foot": of_edge & 2 > 0}
    linked = dict.fromkeys(open_to, np.repeat(connected, count) if count else np.empty(0))
    if not isinstance(connected, int):
        linked = dict.fromkeys(open_to, np.repeat(np.array(connected, np.uint8), 2))
    write_roads(
        graph,
        open_to,
        np.zeros(count, bool) if usable is None else usable,
        linked,
        folder / "tiles.tar",
        folder,
    )
    length_cm = np.round(100 * np.array(length_m)).astype(np.int32)
    start = start.astype(np.int32)
    return Roads(folder, length_cm, (start, start[ends ^ 1]))


def _measure(points):
    lon, lat = (np.array(points) * UNIT_DEG).T
    return max(1.0, round(float(haversine_m(lon[:-1], lat[:-1], lon[1:], lat[1:]).sum())))
