"""What can be asked of every row. A task reads columns, asks the library, and adds columns.

A row that cannot be read or answered has the reason in `error`; all others are answered.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, Final

import msgspec
import numpy as np

from mapyard.bulk.blocks import ERROR, Answers, Block, BulkFailed, Column
from mapyard.bulk.places import find_place, list_columns, read_position
from mapyard.bulk.read import Source, open_source, read_properties
from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.geocoding.answer.batch import (
    ADDED,
    ALIASES,
    Answer,
    Options,
    added_values,
    answer_rows,
    check_columns,
)
from mapyard.geocoding.search.matching import Filters
from mapyard.library.call import Call
from mapyard.library.question import find_question
from mapyard.library.results.feature import Feature
from mapyard.library.ways import get_rasters
from mapyard.params.positions import Position

log = logging.getLogger(__name__)

#: What one row may take, seconds.
ROW_S: Final = 60.0
#: Rows that a file of destinations may have.
MAX_DESTINATIONS: Final = 10_000


class Wishes(msgspec.Struct, kw_only=True):
    """What was asked for on the command line; each task reads what concerns it."""

    lat: str = ""
    lon: str = ""
    geometry_column: str = ""
    #: Parameters of the question, as in a query string: mode=foot.
    params: dict[str, Any] = {}
    country: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    radius_m: float | None = None
    #: route: add the line.
    with_line: bool = False
    #: matrix: the file of destinations, the column that names them, how many of the nearest.
    to: str = ""
    to_id: str = ""
    best: int | None = None
    #: match: columns of the trace's name and of the time.
    by: str = ""
    time: str = ""
    #: enrich: what is joined.
    nearest: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class Task(ABC):
    """One kind of question, set up for the columns of a file."""

    #: Columns that are added.
    added: list[Column]
    #: Column whose equal values keep rows together.
    group = ""
    #: The question of the library that is asked.
    question: ClassVar[str]
    #: Part of a dataset that it needs.
    part: ClassVar[str] = ""

    @abstractmethod
    def __init__(self, source: Source, wishes: Wishes) -> None:
        """Find the columns; raise where they lack."""

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the added values of a row; raise MapyardError where it has none."""
        raise NotImplementedError

    def answer(self, call: Call, rows: Sequence[Mapping[str, Any]], problems: dict[int, str]
               ) -> Answers:  # fmt: skip
        """Return the answers of some rows; `problems` are those that could not be read."""
        values: dict[str, list[Any]] = {column.name: [] for column in self.added}
        for place, row in enumerate(rows):
            if place in problems:
                told: dict[str, Any] = {ERROR: problems[place]}
            else:
                told = ask(partial(self.answer_row, call, row), call)
            for name, column in values.items():
                column.append(told.get(name))
        return Answers(values)

    def check(self, call: Call) -> None:
        """Raise where the dataset cannot answer any row."""
        if self.part:
            call.part(self.part)

    def needed(self) -> list[str] | None:
        """Return the columns that are read; None: all."""
        return None

    def iter_units(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[range]:
        """Yield the places of rows that are answered together: each row by itself."""
        yield from (range(place, place + 1) for place in range(len(rows)))

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return a struct whose positions and radius say where on Earth a unit is.

        Raises MapyardError where its rows do not tell.
        """
        raise NotImplementedError


class Spot(msgspec.Struct):
    """Where a row is that asks for nothing more."""

    near: Position
    radius: float = 0.0


def answer_block(task: Task, call: Call, block: Block) -> Answers:
    """Return the answers of a block."""
    rows = [read_properties(row) for row in block.get_rows(task.needed())]
    return task.answer(call, rows, block.problems)


class PlacedTask(Task):
    """A task that asks about the position of a row."""

    def __init__(self, source: Source, wishes: Wishes) -> None:
        self.place = find_place(
            source.columns, lat=wishes.lat, lon=wishes.lon,
            geometry=wishes.geometry_column or ("" if wishes.lat else source.geometry),
        )  # fmt: skip
        self.wishes = wishes

    def needed(self) -> list[str] | None:
        """Return the columns that are read."""
        return self.place.columns

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return where on Earth a row is."""
        return Spot(Position(*read_position(rows[0], self.place)))


def ask(question: Callable[[], dict[str, Any]], call: Call) -> dict[str, Any]:
    """Return the values of one row, or what is wrong with it."""
    call.deadline = Deadline(ROW_S)
    try:
        return question()
    except MapyardError as error:
        return {ERROR: error.message}
    except Exception as error:  # one row does not end the other millions
        log.exception("a row could not be answered")
        return {ERROR: f"internal error: {type(error).__name__}: {str(error)[:200]}"}


def _read_question(name: str, raw: Mapping[str, Any], wishes: Wishes) -> Any:
    return find_question(name).parser.parse({**wishes.params, **raw})


def _ask_question(name: str, call: Call, raw: Mapping[str, Any], wishes: Wishes) -> Any:
    return find_question(name).answer(call, _read_question(name, raw, wishes))


def _check_params(name: str, raw: Mapping[str, Any], wishes: Wishes) -> None:
    """Raise now for parameters that every row would be refused for."""
    parser = find_question(name).parser
    unknown = [given for given in wishes.params if given not in parser.names]
    if unknown:
        raise InvalidRequest(
            f"--set {unknown[0]}: {name} has no such parameter; there are "
            f"{', '.join(sorted(parser.names))}"
        )
    parser.parse({**wishes.params, **raw})


# ---- addresses --------------------------------------------------------------------------------

_MATCHED: Final = [
    Column(ERROR if name == "match_error" else name,
           "number" if name in ("match_lat", "match_lon", "match_confidence", "match_score")
           else "integer" if name == "match_osm_id" else "text")
    for name in ADDED
]  # fmt: skip


class Geocoding(Task):
    """Addresses to places, by the columns that `mapyard geocode FILE` reads."""

    question = "geocode"
    part = "geocoder"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        check_columns(source.columns)
        self.added = _MATCHED
        known = {name for group in ALIASES.values() for name in group}
        self._needed = [name for name in source.columns if name.strip().lower() in known]
        self.options = Options(
            1, Filters(countries=wishes.country), langs=wishes.langs,
            radius_m=wishes.radius_m or 200.0,
        )  # fmt: skip

    def needed(self) -> list[str] | None:
        """Return the columns that are read."""
        return self._needed

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the added values of a row."""
        asked = {name: row[name] for name in self._needed if row.get(name) is not None}
        return _match_place(call, asked, self.options)[0]


def _match_place(call: Call, asked: Any, options: Options) -> tuple[dict[str, Any], Answer]:
    """Return the added values of the best place, and what the geocoder answered."""
    found = next(answer_rows(call.part("geocoder"), [asked], options, call.deadline))
    told = {
        column.name: None if value == "" else value
        for column, value in zip(_MATCHED, added_values(found), strict=True)
    }
    return told, found


class Reversing(PlacedTask):
    """Positions to addresses."""

    question = "reverse"
    part = "geocoder"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        super().__init__(source, wishes)
        self.added = [*_MATCHED, Column("match_distance_m", "number")]
        self.options = Options(1, langs=wishes.langs, radius_m=wishes.radius_m or 200.0)

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the added values of a row."""
        told, found = _match_place(call, list(read_position(row, self.place)), self.options)
        if found.features:
            told["match_distance_m"] = found.features[0]["properties"].get("distance_m")
        return told


# ---- roads ------------------------------------------------------------------------------------


class Snapping(PlacedTask):
    """Positions to the nearest road."""

    question = "nearest"
    part = "routing"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        super().__init__(source, wishes)
        self.added = [
            Column("road_lat", "number"), Column("road_lon", "number"),
            Column("road_distance_m", "number"), Column("road_name", "text"),
            Column("road_highway", "text"), Column("road_osm_way_id", "integer"),
            Column(ERROR, "text"),
        ]  # fmt: skip
        self._more = {} if wishes.radius_m is None else {"radius": wishes.radius_m}
        _check_params("nearest", {"at": [0.0, 0.0], **self._more}, wishes)

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the added values of a row."""
        feature = _ask_question("nearest", call, self._read(row), self.wishes).features[0]
        told = feature["properties"]
        lon, lat = Feature(feature).lonlat
        return {
            "road_lat": lat, "road_lon": lon, "road_distance_m": told["distance_m"],
            "road_name": told["name"] or None, "road_highway": told["highway"],
            "road_osm_way_id": told["osm_way_id"],
        }  # fmt: skip

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return where on Earth a row is, and how far it looks."""
        return _read_question("nearest", self._read(rows[0]), self.wishes)

    def _read(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {"at": list(read_position(row, self.place)), **self._more}


class Routing(PlacedTask):
    """Ways between two positions of a row."""

    question = "route"
    part = "routing"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        self.wishes = wishes
        self.origin, self.destination = (
            find_place(
                source.columns, lat=asked_lat, lon=asked_lon, prefixes=prefixes, wanted=wanted,
                options="--lat FROM,TO and --lon FROM,TO",
            )
            for asked_lat, asked_lon, prefixes, wanted in zip(
                _pair(wishes.lat, "--lat"), _pair(wishes.lon, "--lon"),
                (("from_", "origin_", "start_", "from", "origin"),
                 ("to_", "destination_", "dest_", "end_", "to", "destination")),
                ("where the route begins", "where the route ends"), strict=True,
            )
        )  # fmt: skip
        self.added = [
            Column("route_distance_m", "number"), Column("route_duration_s", "number"),
            *([Column("route_geometry", "shape")] if wishes.with_line else []),
            Column(ERROR, "text"),
        ]  # fmt: skip
        self._more = {"overview": "full" if wishes.with_line else "false"}
        probe = {"origin": [0.0, 0.0], "destination": [0.0, 0.0], **self._more}
        _check_params("route", probe, wishes)

    def needed(self) -> list[str] | None:
        """Return the columns that are read."""
        return [*self.origin.columns, *self.destination.columns]

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the added values of a row."""
        found = _ask_question("route", call, self._read(row), self.wishes)
        told: dict[str, Any] = {
            "route_distance_m": found.distance_m, "route_duration_s": found.duration_s,
        }  # fmt: skip
        if self.wishes.with_line:
            told["route_geometry"] = found.geometry
        return told

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return where on Earth a row is."""
        return _read_question("route", self._read(rows[0]), self.wishes)

    def _read(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "origin": list(read_position(row, self.origin)),
            "destination": list(read_position(row, self.destination)), **self._more,
        }  # fmt: skip


def _pair(text: str, option: str) -> tuple[str, str]:
    if not text:
        return "", ""
    first, comma, second = text.partition(",")
    if not comma:
        raise InvalidRequest(f"{option}: name two columns by comma, of the beginning and the end")
    return first.strip(), second.strip()


class Measuring(PlacedTask):
    """From each row to all rows of another file, or the nearest of them: a row per pair."""

    question = "matrix"
    part = "routing"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        super().__init__(source, wishes)
        from pathlib import Path

        if not wishes.to:
            raise InvalidRequest("--to FILE: name the file of destinations")
        to = open_source(Path(wishes.to))
        place = find_place(to.columns, geometry=to.geometry)
        name = wishes.to_id or next((n for n in ("id", "name") if n in to.columns), "")
        if name and name not in to.columns:
            raise BulkFailed(f"{wishes.to} has no column '{name}'; there are "
                             f"{list_columns(to.columns)}")  # fmt: skip
        self.destinations: list[list[float]] = []
        self.names: list[str] = []
        for block in to.iter_blocks(1_000):
            for row in map(read_properties, block.get_rows()):
                number = len(self.destinations) + 1
                try:
                    self.destinations.append(list(read_position(row, place)))
                except InvalidRequest as error:
                    raise BulkFailed(f"{wishes.to}, row {number}: {error.message}") from None
                self.names.append(str(row[name]) if name else str(number))
                if number > MAX_DESTINATIONS:
                    raise BulkFailed(f"{wishes.to} has more than {MAX_DESTINATIONS:,} rows")
        if not self.destinations:
            raise BulkFailed(f"{wishes.to} has no rows")
        ends = np.array(self.destinations)
        #: Two corners of the box around them.
        self._corners = [ends.min(axis=0).tolist(), ends.max(axis=0).tolist()]
        self.added = [
            Column("to", "text"), Column("to_rank", "integer"),
            Column("to_distance_m", "number"), Column("to_duration_s", "number"),
            Column(ERROR, "text"),
        ]  # fmt: skip
        probe = {"origins": [[0.0, 0.0]], "destinations": [[0.0, 0.0]]}
        _check_params("matrix", probe, wishes)

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the added values of a row."""
        raw = {"origins": [list(read_position(row, self.place))], "destinations": self.destinations}
        found = _ask_question("matrix", call, raw, self.wishes)
        return {"seconds": found.durations_s[0], "meters": found.distances_m[0]}

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return where on Earth a row and the destinations are."""
        raw = {"origins": [list(read_position(rows[0], self.place))], "destinations": self._corners}
        return _read_question("matrix", raw, self.wishes)

    def answer(self, call: Call, rows: Sequence[Mapping[str, Any]], problems: dict[int, str]
               ) -> Answers:  # fmt: skip
        """Return the answers of some rows."""
        values: dict[str, list[Any]] = {column.name: [] for column in self.added}
        places: list[int] = []
        for place, row in enumerate(rows):
            told: dict[str, Any] = {ERROR: problems.get(place)}
            if place not in problems:
                told = ask(partial(self.answer_row, call, row), call)
            if ERROR in told:
                places.append(place)
                for name, column in values.items():
                    column.append(told.get(name))
                continue
            order = np.argsort(told["seconds"], kind="stable")  # NaN, no way, comes last
            ranks = {int(at): rank for rank, at in enumerate(order.tolist(), start=1)}
            kept = range(len(self.names)) if self.wishes.best is None else (
                order[: self.wishes.best].tolist()
            )  # fmt: skip
            for at in kept:
                seconds, meters = float(told["seconds"][at]), float(told["meters"][at])
                has_way = seconds == seconds
                places.append(place)
                values["to"].append(self.names[at])
                values["to_rank"].append(ranks[at])
                values["to_distance_m"].append(meters if has_way else None)
                values["to_duration_s"].append(seconds if has_way else None)
                values[ERROR].append(None if has_way else "no way leads there")
        return Answers(values, places)


class Matching(Task):
    """Traces onto roads: rows that follow each other and share `--by` are the points of one."""

    question = "match"
    part = "routing"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        self.wishes = wishes
        self.place = find_place(
            source.columns, lat=wishes.lat, lon=wishes.lon,
            geometry=wishes.geometry_column or source.geometry,
        )  # fmt: skip
        self.group = wishes.by or next(
            (n for n in ("trace", "trace_id", "trip", "trip_id") if n in source.columns), ""
        )
        if self.group not in source.columns:
            told = (
                f"no column '{self.group}'" if self.group else "no column that tells traces apart"
            )
            raise BulkFailed(
                f"there is {told}; there are {list_columns(source.columns)}. Name it: --by COLUMN"
            )
        self.time = wishes.time or next(
            (name for name in ("time", "timestamp") if name in source.columns), ""
        )
        if self.time and self.time not in source.columns:
            raise BulkFailed(f"there is no column '{self.time}'; there are "
                             f"{list_columns(source.columns)}")  # fmt: skip
        self.added = [
            Column("match_lat", "number"), Column("match_lon", "number"),
            Column("match_distance_m", "number"), Column("match_name", "text"),
            Column("match_osm_way_id", "integer"), Column("match_confidence", "number"),
            Column(ERROR, "text"),
        ]  # fmt: skip
        _check_params("match", {"trace": [[0.0, 0.0], [0.0, 0.0]]}, wishes)

    def needed(self) -> list[str] | None:
        """Return the columns that are read."""
        return [*self.place.columns, self.group, *([self.time] if self.time else [])]

    def answer(self, call: Call, rows: Sequence[Mapping[str, Any]], problems: dict[int, str]
               ) -> Answers:  # fmt: skip
        """Return the answers of some rows."""
        told: list[dict[str, Any]] = [{} for _ in rows]
        for places in self.iter_units(rows):
            self._answer_trace(call, rows, problems, places, told)
        names = [column.name for column in self.added]
        return Answers({name: [one.get(name) for one in told] for name in names})

    def iter_units(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[range]:
        """Yield the places of each trace."""
        begin = 0
        for end in range(1, len(rows) + 1):
            if end < len(rows) and rows[end].get(self.group) == rows[begin].get(self.group):
                continue
            yield range(begin, end)
            begin = end

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return where on Earth a trace is, as far as its points can be read."""
        points = []
        for row in rows:
            with suppress(InvalidRequest):
                points.append(read_position(row, self.place))
        return _read_question("match", {"trace": points}, self.wishes)

    def _answer_trace(
        self, call: Call, rows: Sequence[Mapping[str, Any]], problems: dict[int, str],
        places: range, told: list[dict[str, Any]],
    ) -> None:  # fmt: skip
        """Put the answers of the points of one trace into `told`; bad points are left out."""
        taken: list[int] = []
        points: list[list[float]] = []
        times: list[float] = []
        for place in places:
            if place in problems:
                told[place] = {ERROR: problems[place]}
                continue
            try:
                position = list(read_position(rows[place], self.place))
                if self.time:
                    times.append(read_time(rows[place].get(self.time), self.time))
            except InvalidRequest as error:
                told[place] = {ERROR: error.message}
                continue
            taken.append(place)
            points.append(position)
        if not points:
            return
        raw: dict[str, Any] = {"trace": points, **({"timestamps": times} if times else {})}
        found = ask(lambda: self._match(call, raw), call)
        for at, place in enumerate(taken):
            told[place] = found if ERROR in found else found["points"][at]

    def _match(self, call: Call, raw: dict[str, Any]) -> dict[str, Any]:
        from mapyard.library.questions import matching

        params = find_question("match").parser.parse({**self.wishes.params, **raw})
        found, _ = matching.find(call, params)
        points: list[dict[str, Any]] = []
        for at in range(len(raw["trace"])):
            number = int(found.matching_of[at])
            if number < 0:
                points.append({ERROR: "no road of the trace's way is near"})
                continue
            lon, lat = found.positions[at].tolist()
            ahead = found.legs[at].way_ids[:1] if at < len(found.legs) else []
            behind = found.legs[at - 1].way_ids[-1:] if at else []
            points.append(
                {
                    "match_lat": lat, "match_lon": lon,
                    "match_distance_m": round(float(found.away_m[at]), 2),
                    "match_name": found.names[at] or None,
                    "match_osm_way_id": next(iter([*ahead, *behind]), None),
                    "match_confidence": found.matchings[number].confidence,
                }
            )  # fmt: skip
        return {"points": points}


def read_time(value: Any, name: str) -> float:
    """Return seconds of a number, an ISO 8601 text or a datetime; raise InvalidRequest."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            try:
                value = datetime.fromisoformat(value.strip())
            except ValueError:
                value = None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    raise InvalidRequest(f"{name} is neither seconds nor a time such as 2026-06-17T08:30:00Z")


# ---- heights ----------------------------------------------------------------------------------


class Raising(PlacedTask):
    """Positions to heights, a block at once."""

    question = "elevation"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        super().__init__(source, wishes)
        self.added = [Column("elevation_m", "number"), Column(ERROR, "text")]

    def check(self, call: Call) -> None:
        """Raise where there are no rasters."""
        get_rasters(call)

    def answer(self, call: Call, rows: Sequence[Mapping[str, Any]], problems: dict[int, str]
               ) -> Answers:  # fmt: skip
        """Return the answers of some rows."""
        errors: list[str | None] = [problems.get(place) for place in range(len(rows))]
        lonlat = np.full((len(rows), 2), np.nan)
        for place, row in enumerate(rows):
            if errors[place] is None:
                try:
                    lonlat[place] = read_position(row, self.place)
                except InvalidRequest as error:
                    errors[place] = error.message
        heights = np.full(len(rows), np.nan)
        good = np.flatnonzero(~np.isnan(lonlat[:, 0]))
        if len(good):
            found, _, _ = get_rasters(call).sample(lonlat[good, 0], lonlat[good, 1])
            heights[good] = np.round(found, 2)
        for place in good[np.isnan(heights[good])].tolist():
            errors[place] = "no elevation data here"
        values = [None if height != height else height for height in heights.tolist()]
        return Answers({"elevation_m": values, ERROR: list(errors)})


def find_task(name: str) -> type[Task]:
    """Return the task of a name."""
    from mapyard.bulk.joins import Enriching

    return Enriching if name == "enrich" else TASKS[name]


TASKS: Final[dict[str, type[Task]]] = {
    "geocode": Geocoding, "reverse": Reversing, "route": Routing, "matrix": Measuring,
    "match": Matching, "nearest": Snapping, "elevation": Raising,
}  # fmt: skip
