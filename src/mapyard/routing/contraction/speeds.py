"""Own speeds: a table of roads and km/h, read, and spread over the edges of a graph.

A row names a way of OpenStreetMap, in one of its directions or both, or an edge of one dataset.
0 km/h close a road.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.routing.contraction.costs import Floats
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.modes import TABLE_MODES, Mode
from mapyard.routing.tagging.pieces import find_way_id

MOST_KMH: Final = 250.0
#: The cost of a road without a speed.
_NEVER_S: Final = 1e6
#: Faults that are told one by one.
_MOST_TOLD: Final = 20
_BOTH, _FORWARD, _BACKWARD = 0, 1, 2
_DIRECTIONS: Final = {"": _BOTH, "both": _BOTH, "forward": _FORWARD, "backward": _BACKWARD}
_DIRECTION_NAMES: Final = ("", "forward", "backward")
_COLUMNS: Final = ("way_id", "edge_id", "direction", "speed_kmh", "mode")
#: A record of a road begins with its way: 32 bits, and 8 more at the end of the next word.
_RECORD_WORDS: Final = 2
_EDGES_AT_ONCE: Final = 1 << 18


class WrongSpeeds(InvalidRequest):
    """Rows of a table of speeds are wrong; the message has their lines."""


@dataclass(frozen=True, slots=True)
class SpeedRows:
    """Rows as columns."""

    line: Ints  #: in the file
    road: NDArray[np.int64]  #: id of a way or of an edge
    is_edge: NDArray[np.bool_]
    direction: NDArray[np.int8]
    mode: NDArray[np.int8]  #: place in TABLE_MODES
    kmh: Floats
    ignored: tuple[str, ...] = ()  #: columns of other names

    def __len__(self) -> int:
        return len(self.line)

    def take(self, rows: NDArray[np.bool_]) -> SpeedRows:
        """Return some of the rows."""
        return SpeedRows(
            self.line[rows], self.road[rows], self.is_edge[rows], self.direction[rows],
            self.mode[rows], self.kmh[rows], self.ignored,
        )  # fmt: skip

    def join(self, others: SpeedRows) -> SpeedRows:
        """Return these rows and others."""
        names = ("line", "road", "is_edge", "direction", "mode", "kmh")
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in names
        }
        return replace(self, **columns)

    def without(self, modes: Collection[Mode]) -> SpeedRows:
        """Return the rows of other modes."""
        return self.take(~np.isin(self.mode, [TABLE_MODES.index(mode) for mode in modes]))

    def of(self, mode: Mode) -> SpeedRows:
        """Return the rows of a mode."""
        return self.take(self.mode == TABLE_MODES.index(mode))

    @property
    def modes(self) -> list[Mode]:
        """Return the modes that rows are for."""
        return [TABLE_MODES[place] for place in np.unique(self.mode).tolist()]


@dataclass(frozen=True, slots=True)
class EdgeSpeeds:
    """What a table says of each edge in a mode."""

    kmh: Floats  #: NaN where it says nothing
    unknown: Ints  #: lines of rows whose road the mode has not

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Return which edges are closed."""
        return self.kmh == 0

    def replace(self, length_m: Ints, cost_s: Floats, time_s: Floats) -> tuple[Floats, Floats]:
        """Return cost and time of edges at these speeds.

        A mode likes a road as much as before: its cost is to its time as it was. Where a road had
        no speed, it costs what it takes.
        """
        own = np.flatnonzero(self.kmh > 0)
        taken_s = 3.6 * length_m[own] / self.kmh[own]
        liking = np.ones(len(own))
        timed = (time_s[own] > 0) & (cost_s[own] < _NEVER_S)
        liking[timed] = cost_s[own][timed] / time_s[own][timed]
        cost_s, time_s = cost_s.copy(), time_s.copy()
        cost_s[own], time_s[own] = liking * taken_s, taken_s
        return cost_s, time_s


def read_speeds(path: Path) -> SpeedRows:
    """Read a CSV file; raise `WrongSpeeds` with the lines of what is wrong."""
    faults = Faults(path.name)
    ids, kmh = array("q"), array("d")
    lines, kinds = array("q"), array("b")
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = csv.reader(file)
        columns, ignored = _read_header(path.name, next(rows, []))
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            try:
                road, is_edge, direction, mode, speed = _read_row(columns, row)
            except ValueError as error:
                faults.add(rows.line_num, str(error))
                continue
            lines.append(rows.line_num)
            ids.append(road)
            kmh.append(speed)
            kinds.extend((is_edge, direction, mode))
    faults.check()
    if not len(lines):
        raise WrongSpeeds(f"{path.name}: there are no rows below the header")
    kind = np.array(kinds, np.int8).reshape(-1, 3)
    return SpeedRows(
        np.array(lines, np.int64), np.array(ids, np.int64), kind[:, 0] == 1, kind[:, 1], kind[:, 2],
        np.array(kmh, np.float64), ignored,
    )  # fmt: skip


def write_speeds(path: Path, rows: SpeedRows) -> None:
    """Write rows as a file that `read_speeds` reads."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for road, is_edge, direction, mode, kmh in zip(
            rows.road.tolist(), rows.is_edge.tolist(), rows.direction.tolist(), rows.mode.tolist(),
            rows.kmh.tolist(), strict=True,
        ):  # fmt: skip
            ids = ("", road) if is_edge else (road, "")
            writer.writerow((*ids, _DIRECTION_NAMES[direction], f"{kmh:.10g}", TABLE_MODES[mode]))


class Faults:
    """Faults of a file by line, told together: the first ones, and how many there are."""

    def __init__(self, name: str) -> None:
        self._name, self._told, self._count = name, list[str](), 0

    def add(self, line: int, fault: str) -> None:
        """Note one."""
        self._count += 1
        if len(self._told) < _MOST_TOLD:
            self._told.append(f"  line {line}: {fault}")

    def check(self) -> None:
        """Raise `WrongSpeeds` if there are any."""
        if not self._count:
            return
        more = self._count - len(self._told)
        rows = "1 row is" if self._count == 1 else f"{self._count} rows are"
        raise WrongSpeeds(
            "\n".join(
                [
                    f"{self._name}: {rows} wrong, so nothing was changed",
                    *self._told,
                    *([f"  and {more} more"] if more else ()),
                ]
            )
        )


def _read_header(name: str, header: list[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    names = [cell.strip().lower() for cell in header]
    columns = {column: place for place, column in enumerate(names) if column in _COLUMNS}
    if "speed_kmh" not in columns or not columns.keys() & {"way_id", "edge_id"}:
        raise WrongSpeeds(
            f"{name}: line 1 has to name the columns: way_id (or edge_id) and speed_kmh, and where "
            "wanted direction and mode, such as: way_id,direction,speed_kmh"
        )
    if len(set(names)) < len(names):
        raise WrongSpeeds(f"{name}: line 1 names a column twice")
    return columns, tuple(column for column in names if column not in _COLUMNS)


def _read_row(columns: dict[str, int], row: list[str]) -> tuple[int, bool, int, int, float]:
    """Return road, whether it is an edge, direction, mode, km/h; raise ValueError saying why."""

    def take(name: str) -> str:
        place = columns.get(name, len(row))
        return row[place].strip() if place < len(row) else ""

    way, edge = take("way_id"), take("edge_id")
    if bool(way) == bool(edge):
        raise ValueError("needs a way_id or an edge_id" + (", not both" if way else ""))
    road = way or edge
    if not (road.isdecimal() and road.isascii() and 0 < int(road) < 1 << 62):
        raise ValueError(f"{'way_id' if way else 'edge_id'} {road!r} is not an id: a whole number")
    direction = take("direction").lower()
    if direction not in _DIRECTIONS:
        raise ValueError(f"direction {direction!r} is not forward, backward or both")
    if edge and direction not in ("", "forward"):
        raise ValueError("an edge has one direction: leave the column empty")
    mode = take("mode").lower() or TABLE_MODES[0]
    if mode not in TABLE_MODES:
        raise ValueError(f"mode {mode!r} has no own speeds; these have: {', '.join(TABLE_MODES)}")
    return (
        int(road), bool(edge), _DIRECTIONS[direction], TABLE_MODES.index(mode),
        _read_kmh(take("speed_kmh")),
    )  # fmt: skip


def _read_kmh(text: str) -> float:
    try:
        kmh = float(text)
    except ValueError:
        kmh = math.nan
    if not (kmh == 0 or 1 <= kmh <= MOST_KMH):
        raise ValueError(f"speed_kmh {text!r} is neither 0 (closed) nor from 1 to {MOST_KMH:g}")
    return kmh


#: What an edge is known by in another graph: its way, whether it goes forward on it, how long it
#: is, and where it begins and ends.
type EdgeKey = tuple[int, ...]
_UNITS_PER_DEG: Final = 1e6


def describe_edges(
    graph: RoadGraph, way_ids: NDArray[np.int64], edges: Ints
) -> list[EdgeKey | None]:
    """Return what edges are known by in another graph, None for numbers that are none."""
    known = (edges >= 0) & (edges < len(way_ids))
    kept = edges[known]
    is_inside = graph.end[kept] >= 0
    known[known] = is_inside
    kept = kept[is_inside]
    ends = [
        np.round(_UNITS_PER_DEG * values[node[kept]]).astype(np.int64)
        for node in (graph.start, graph.end)
        for values in (graph.lon, graph.lat)
    ]
    columns = [way_ids[kept], graph.edges.forward[kept], graph.edges.length_m[kept], *ends]
    keys: Iterator[EdgeKey] = zip(*(column.tolist() for column in columns), strict=True)
    return [next(keys) if is_known else None for is_known in known.tolist()]


def rename_edges(
    rows: SpeedRows, keys: Sequence[EdgeKey | None], graph: RoadGraph, way_ids: NDArray[np.int64]
) -> SpeedRows:
    """Return rows whose edges have the ids of another graph; those that it has not are left out.

    `keys` are what the rows of edges are known by, in their order.
    """
    wanted = {key[0] for key in keys if key is not None}
    edges = np.flatnonzero(np.isin(way_ids, list(wanted)) & (graph.edges.shortcut == 0))
    found: dict[EdgeKey | None, int] = {}
    for edge, key in zip(edges.tolist(), describe_edges(graph, way_ids, edges), strict=True):
        found[key] = -1 if key in found else edge  # of twins nobody knows which one was meant
    numbers = [found.get(key, -1) if key is not None else -1 for key in keys]
    road = rows.road.copy()
    road[rows.is_edge] = [
        graph.edge_ids.make_id(*graph.edge_ids.locate(edge)) if edge >= 0 else -1
        for edge in numbers
    ]
    return replace(rows, road=road).take(road >= 0)


def find_way_ids(graph: RoadGraph, tiles_tar: Path) -> NDArray[np.int64]:
    """Return the way of each edge."""
    data = np.memmap(tiles_tar, np.uint8, "r")
    ways = np.empty(len(graph.record), np.int64)
    for start in range(0, len(ways), _EDGES_AT_ONCE):
        some = slice(start, start + _EDGES_AT_ONCE)
        at = graph.record[some, None] + np.arange(4 * _RECORD_WORDS)
        words = data[at].view(np.uint32).astype(np.int64)
        ways[some] = find_way_id(words[:, 0] | words[:, 1] >> 24 << 32)
    return ways


def spread_speeds(
    graph: RoadGraph,
    way_ids: NDArray[np.int64],
    usable: NDArray[np.bool_],
    rows: SpeedRows,
    name: str,
) -> EdgeSpeeds:
    """Return what the rows of one mode say of its edges; raise `WrongSpeeds` where two disagree."""
    edges = _find_named(way_ids, usable, rows.road[~rows.is_edge])
    by_way = edges[np.argsort(way_ids[edges], kind="stable")]
    ways = way_ids[by_way]
    first = np.searchsorted(ways, rows.road)
    count = np.searchsorted(ways, rows.road, side="right") - first
    count[rows.is_edge] = 0
    row = np.repeat(np.arange(len(rows)), count)
    within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    edge = by_way[np.repeat(first, count) + within]
    wanted = rows.direction[row]
    is_forward = graph.edges.forward[edge] == 1
    fits = (wanted == _BOTH) | (is_forward == (wanted == _FORWARD))
    row, edge = row[fits], edge[fits]

    named = np.flatnonzero(rows.is_edge)
    found = graph.edge_ids.find(rows.road[named])
    known = (found >= 0) & (found < len(usable))
    known[known] = usable[found[known]]
    row = np.concatenate([row, named[known]])
    edge = np.concatenate([edge, found[known]])

    _check_agreement(graph, rows, row, edge, name)
    kmh = np.full(len(usable), np.nan)
    kmh[edge] = rows.kmh[row]
    met = np.zeros(len(rows), np.bool_)
    met[row] = True
    return EdgeSpeeds(kmh, rows.line[~met])


def _find_named(
    way_ids: NDArray[np.int64], usable: NDArray[np.bool_], roads: NDArray[np.int64]
) -> Ints:
    """Return the usable edges whose way is among some, ascending."""
    named = np.unique(roads)
    if not len(named):
        return np.empty(0, np.int32)
    found = [np.empty(0, np.int32)]
    for start in range(0, len(usable), _EDGES_AT_ONCE):
        edges = np.flatnonzero(usable[start : start + _EDGES_AT_ONCE]) + start
        ways = way_ids[edges]
        place = np.minimum(np.searchsorted(named, ways), len(named) - 1)
        found.append(edges[named[place] == ways].astype(np.int32))
    return np.concatenate(found)


def _check_agreement(graph: RoadGraph, rows: SpeedRows, row: Ints, edge: Ints, name: str) -> None:
    order = np.lexsort((rows.line[row], edge))
    row, edge = row[order], edge[order]
    clash = (edge[1:] == edge[:-1]) & (rows.kmh[row[1:]] != rows.kmh[row[:-1]])
    faults = Faults(name)
    told = set()
    for one, other in _pairs(rows, row, clash):
        if other not in told:
            told.add(other)
            road, kmh = int(rows.road[other]), rows.kmh[[one, other]].tolist()
            faults.add(
                int(rows.line[other]),
                f"{'edge' if rows.is_edge[other] else 'way'} {road} at {kmh[1]:g} km/h, but line "
                f"{rows.line[one]} says {kmh[0]:g} of the same road and direction",
            )
    faults.check()


def _pairs(rows: SpeedRows, row: Ints, clash: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    at = np.flatnonzero(clash)
    at = at[np.argsort(rows.line[row[at + 1]], kind="stable")]
    yield from zip(row[at].tolist(), row[at + 1].tolist(), strict=True)


def explain_unknown(name: str, unknown: Ints, mode: Mode) -> WrongSpeeds:
    """Return the error of rows whose road a mode has not."""
    lines = ", ".join(str(line) for line in unknown[:_MOST_TOLD].tolist())
    more = len(unknown) - _MOST_TOLD
    rows = "1 row is" if len(unknown) == 1 else f"{len(unknown)} rows are"
    return WrongSpeeds(
        f"{name}: {rows} of roads that mode {mode} has not in this dataset, or not in that "
        f"direction, so nothing was changed: line {lines}{f' and {more} more' if more > 0 else ''}"
        "; leave them out with --skip-unknown"
    )
