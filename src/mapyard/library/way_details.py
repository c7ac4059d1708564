"""What is told of a way beside its line: steps, figures per edge, sums of surfaces and such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.sphere import haversine_m
from mapyard.osm.elements import WAY
from mapyard.routing.edges import EdgePath
from mapyard.routing.steps import Sign, Step
from mapyard.store.reader import Store

type Floats = NDArray[np.float64]

#: What `extra_info` tells of a way, piece by piece and in sums.
Extra = Literal[
    "surface", "smoothness", "tracktype", "way_type", "road_class", "incline", "sac_scale",
    "maxspeed", "toll", "tunnel", "bridge", "osm_way_id", "steepness",
]  # fmt: skip
#: Grades in percent at which the classes of steepness, 0 to ±5, begin: openrouteservice's.
_STEEPNESS_PERCENT: Final = (1.0, 4.0, 7.0, 10.0, 16.0)
#: Grades are told over at least so much way: shorter ones are noise of the raster.
_GRADE_OVER_M: Final = 50.0
#: A cell and those around it, the nearest first.
_NEAREST_CELLS: Final = (
    (0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)
)  # fmt: skip
#: One digit of the engine's positions, in units of 1e-7 degree.
_DIGIT: Final = 10


def write_step(step: Step, leg: int) -> dict[str, Any]:
    """Return a step as it is answered; what is empty is left out."""
    large, small = step.banner
    written: dict[str, Any] = {
        "instruction": step.instruction,
        "maneuver": step.maneuver,
        "name": step.name,
        "distance_m": step.distance_m,
        "duration_s": round(step.duration_s, 1),
        "leg": leg,
        "geometry_index": [step.begin, step.end],
        "bearing_before": step.bearing_before_deg,
        "bearing_after": step.bearing_after_deg,
        "travel": step.travel,
        "voice": _write_known(
            alert=step.voice.alert, before=step.voice.before, after=step.voice.after
        ),
        "banner": _write_known(primary=large, secondary=small),
    }
    if len(step.names) > 1:
        written["names"] = step.names
    if step.roundabout_exit is not None:
        written["roundabout_exit"] = step.roundabout_exit
    if step.sign is not None:
        written["sign"] = _write_sign(step.sign)
    if step.lanes:
        written["lanes"] = [
            _write_known(arrows=lane.arrows, valid=lane.is_valid, active=lane.active)
            for lane in step.lanes
        ]
    for name in ("toll", "ferry", "rough"):
        if getattr(step, name):
            written[name] = True
    return written


def _write_sign(sign: Sign) -> dict[str, list[str]]:
    parts = {
        "exit_number": sign.exit_number,
        "branch": sign.branch,
        "toward": sign.toward,
        "name": sign.name,
    }
    return {name: texts for name, texts in parts.items() if texts}


def _write_known(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def write_edges(
    path: EdgePath, store: Store, heights_m: Floats | None
) -> dict[str, list[dict[str, Any]] | dict[str, Any]]:
    """Return the properties `annotations` (a list per figure) and `edges` (an object per edge)."""
    lengths_m = np.round(path.lengths_m, 1).tolist()
    durations_s = np.round(path.durations_s, 1).tolist()
    annotations: dict[str, Any] = {
        "distance_m": lengths_m,
        "duration_s": durations_s,
        "speed_kmh": [edge.speed_kmh for edge in path.edges],
        "maxspeed_kmh": [edge.maxspeed_kmh for edge in path.edges],
        "way_ids": [edge.way_id for edge in path.edges],
        "geometry_index": np.column_stack([path.begins, path.ends]).tolist(),
        "node_ids": find_node_ids(path, store),
    }
    if heights_m is not None:
        annotations["grade_percent"] = _list_known(np.round(find_grades(path, heights_m), 1))
    edges = [
        {
            "edge_id": edge.edge_id,
            "osm_way_id": edge.way_id,
            "name": edge.name,
            "road_class": edge.road_class,
            "use": edge.use,
            "surface": edge.surface,
            "distance_m": length_m,
            "duration_s": duration_s,
            "toll": edge.toll,
            "tunnel": edge.tunnel,
            "bridge": edge.bridge,
        }
        for edge, length_m, duration_s in zip(path.edges, lengths_m, durations_s, strict=True)
    ]
    return {"annotations": annotations, "edges": edges}


def _list_known(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def find_node_ids(path: EdgePath, store: Store) -> list[int | None]:
    """Return the OSM node at each position of a path, None where it lies between two nodes."""
    ways = np.unique([edge.way_id for edge in path.edges])
    rows = store.find_rows(WAY, ways)
    refs = np.unique(store.way_nodes(rows[rows >= 0]).values)
    refs = refs[refs < store.node_count]
    if not len(refs):
        return [None] * len(path.positions)
    # The engine's positions have a digit less, rounded either way.
    lon, lat = (store.lon.take(refs).astype(np.int64), store.lat.take(refs).astype(np.int64))
    keys = _key(np.round(lon / _DIGIT).astype(np.int64), np.round(lat / _DIGIT).astype(np.int64))
    order = keys.argsort()
    keys, ids = keys[order], store.node_ids(refs)[order]
    at = np.round(path.positions * 1e6).astype(np.int64)
    found = np.full(len(at), -1, np.int64)
    for east, north in _NEAREST_CELLS:
        wanted = _key(at[:, 0] + east, at[:, 1] + north)
        place = keys.searchsorted(wanted).clip(0, len(keys) - 1)
        hit = (found < 0) & (keys[place] == wanted)
        found[hit] = ids[place[hit]]
    return [None if node < 0 else node for node in found.tolist()]


def _key(lon: NDArray[np.int64], lat: NDArray[np.int64]) -> NDArray[np.int64]:
    return (lon + 180_000_000) << 28 | (lat + 90_000_000)


def find_grades(path: EdgePath, heights_m: Floats) -> Floats:
    """Return the grade of each edge in percent, uphill above 0; NaN where a height is missing."""
    return _grades(heights_m[path.begins], heights_m[path.ends], path.lengths_m)


def _grades(start_m: Floats, end_m: Floats, length_m: Floats) -> Floats:
    return np.where(length_m > 1.0, 100.0 * (end_m - start_m) / np.maximum(length_m, 1.0), 0.0)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line, from one index to another, with what holds there."""

    begin: int
    end: int
    value: Any
    distance_m: float


def write_extras(
    names: Sequence[Extra], path: EdgePath, store: Store, heights_m: Floats | None
) -> dict[str, Any]:
    """Return per name `values`, [first position, last position, value], and their `summary`.

    Equal neighbors are one piece. `None` is what nobody has tagged.
    """
    rows = store.find_rows(WAY, [edge.way_id for edge in path.edges]).tolist()
    tags = {row: store.tags(row) for row in set(rows) if row >= 0}
    tags_of = [tags.get(row, {}) for row in rows]
    written: dict[str, Any] = {}
    for name in names:
        if name == "steepness":
            assert heights_m is not None
            pieces = find_slopes(path.positions, heights_m)
        else:
            values = _READERS[name](path, tags_of, store, rows)
            pieces = [
                Piece(begin, end, value, length_m)
                for begin, end, value, length_m in zip(
                    path.begins.tolist(), path.ends.tolist(), values, path.lengths_m.tolist(),
                    strict=True,
                )
            ]  # fmt: skip
        written[name] = _write_pieces(pieces)
    return written


def _write_pieces(pieces: list[Piece]) -> dict[str, Any]:
    values, sums = [], dict[Any, float]()
    for value, group in groupby(pieces, key=lambda piece: piece.value):
        run = list(group)
        values.append([run[0].begin, run[-1].end, value])
        sums[value] = sums.get(value, 0.0) + sum(piece.distance_m for piece in run)
    total_m = sum(sums.values()) or 1.0
    return {
        "values": values,
        "summary": [
            {
                "value": value,
                "distance_m": round(distance_m, 1),
                "share": round(distance_m / total_m, 4),
            }
            for value, distance_m in sorted(sums.items(), key=lambda one: -one[1])
        ],
    }


type _Tags = list[dict[str, str]]
type _Reader = Callable[[EdgePath, _Tags, Store, list[int]], list[Any]]


def _read_tag(key: str) -> _Reader:
    return lambda path, tags_of, store, rows: [tags.get(key) for tags in tags_of]


def _read_edge(name: str) -> _Reader:
    return lambda path, tags_of, store, rows: [getattr(edge, name) for edge in path.edges]


def _read_incline(path: EdgePath, tags_of: _Tags, store: Store, rows: list[int]) -> list[Any]:
    """Return the tag `incline` as seen in the direction of travel."""
    found: list[Any] = []
    shapes: dict[int, shapely.Geometry] = {}
    for begin, end, tags, row in zip(
        path.begins.tolist(), path.ends.tolist(), tags_of, rows, strict=True
    ):
        value = tags.get("incline")
        if value is not None:
            if row not in shapes:
                shapes[row] = shapely.linestrings(store.way_coordinates(np.array([row]))[0] * 1e-7)
            ends = shapely.points(path.positions[[begin, min(begin + 1, end)]])
            along = shapely.line_locate_point(shapes[row], ends)
            value = value if along[1] >= along[0] else turn_incline(value)
        found.append(value)
    return found


def turn_incline(value: str) -> str:
    """Return what an incline is the other way: up is down, 8% is -8%."""
    text = value.strip()
    if text in ("up", "down"):
        return "down" if text == "up" else "up"
    if text[-1:] not in ("%", "°") or not any(letter.isdigit() for letter in text):
        return value
    if text.startswith("-"):
        return text[1:]
    return text if text.strip("+%°0. ") == "" else f"-{text.removeprefix('+')}"


_READERS: Final[dict[Extra, _Reader]] = {
    "surface": _read_tag("surface"),
    "smoothness": _read_tag("smoothness"),
    "tracktype": _read_tag("tracktype"),
    "way_type": _read_tag("highway"),
    "sac_scale": _read_tag("sac_scale"),
    "road_class": _read_edge("road_class"),
    "maxspeed": _read_edge("maxspeed_kmh"),
    "toll": _read_edge("toll"),
    "tunnel": _read_edge("tunnel"),
    "bridge": _read_edge("bridge"),
    "osm_way_id": _read_edge("way_id"),
    "incline": _read_incline,
}


def find_slopes(positions: Floats, heights_m: Floats) -> list[Piece]:
    """Return the pieces of a line (n, 2) with their class of steepness, 50 m and more."""
    steps_m = haversine_m(positions[:-1, 0], positions[:-1, 1], positions[1:, 0], positions[1:, 1])
    along_m = np.concatenate([[0.0], np.cumsum(steps_m)])
    cuts = np.flatnonzero(np.diff(along_m // _GRADE_OVER_M)) + 1
    # What is left over at the end belongs to the last piece.
    cuts = cuts[along_m[-1] - along_m[cuts] >= _GRADE_OVER_M / 2]
    bounds = np.concatenate([[0], cuts, [len(along_m) - 1]])
    begins, ends = bounds[:-1], bounds[1:]
    lengths_m = along_m[ends] - along_m[begins]
    grades = _grades(heights_m[begins], heights_m[ends], lengths_m)
    return [
        Piece(begin, end, classify_steepness(grade), length_m)
        for begin, end, grade, length_m in zip(
            begins.tolist(), ends.tolist(), grades.tolist(), lengths_m.tolist(), strict=True
        )
    ]


def classify_steepness(percent: float) -> int | None:
    """Return 0 (flat) to 5 (16 % and more), below 0 downhill; None where a height is missing."""
    if percent != percent:
        return None
    steep = int(np.searchsorted(_STEEPNESS_PERCENT, abs(percent), side="right"))
    return steep if percent >= 0 else -steep
