"""Answers on the terminal: tables for people, JSON and files for programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mapyard.errors import InvalidRequest
from mapyard.library.results.feature import Feature, Features, load_written
from mapyard.library.results.heights import Heights, Profile
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.places import Places
from mapyard.library.results.tags import TagCounts
from mapyard.library.results.ways import Areas, MatchedTrace, NearestRoads, Route, Tour, TourPlan
from mapyard.results.units import format_area, format_distance, format_duration

#: Rows of a table of features; more are counted.
MAX_ROWS: Final = 50
#: Heights in eight steps, for a terminal.
_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 60


def print_result(result: Any) -> None:
    """Print an answer for people."""
    console = Console()
    if isinstance(result, bytes):
        if sys.stdout.isatty():
            raise InvalidRequest.of("output", f"name a file with -o for these {len(result)} bytes")
        sys.stdout.buffer.write(result)
        return
    for kind, show in _SHOWN:
        if isinstance(result, kind):
            show(console, result)
            return
    typer.echo(orjson.dumps(to_json(result), option=orjson.OPT_INDENT_2).decode())


def to_json(result: Any) -> Any:
    """Return an answer as plain Python values."""
    make = getattr(result, "to_geojson", None) or result.to_json
    return make()


def write_result(result: Any, name: str | None, output: Path | None) -> None:
    """Write an answer in a format to a file, or to standard output."""
    if isinstance(result, bytes):
        _write(output, lambda file: file.write(result))
        if output is not None:
            typer.echo(f"{len(result):,} bytes in {output}", err=True)
        return
    if name is None and output is not None and not isinstance(result, Features):
        name = "json"
    if name in ("json", "geojson"):
        text = orjson.dumps(to_json(result)) + b"\n"
        _write(output, lambda file: file.write(text))
    elif isinstance(result, Features):
        _write_features(result, name, output)
    else:
        raise InvalidRequest.of("format", f"must be json or geojson here, got {name}")


def _write(output: Path | None, write: Callable[[IO[bytes]], object]) -> None:
    if output is None:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with output.open("wb") as file:
        write(file)


def _write_features(result: Features, name: str | None, output: Path | None) -> None:
    if output is not None:
        from mapyard.library.export import export_elements

        count = export_elements(result, output, name)
        typer.echo(f"{count:,} features in {output}", err=True)
    elif name == "ndjson":
        for written in result.iter_written():
            text = written if isinstance(written, bytes) else orjson.dumps(load_written(written))
            sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()
    elif name == "csv":
        write_csv(result, sys.stdout)
    else:
        raise InvalidRequest.of("format", f"{name} needs a file: name it with -o")


def write_csv(result: Iterable[Feature], file: IO[str]) -> None:
    """Write features as CSV: id, lon, lat, and a column per property."""
    features = list(result)
    names = list(dict.fromkeys(name for feature in features for name in feature.properties))
    writer = csv.writer(file)
    writer.writerow(["id", "lon", "lat", *names])
    for feature in features:
        try:
            lon, lat = feature.lonlat
        except ValueError:
            lon = lat = float("nan")
        values = (feature.get(name) for name in names)
        writer.writerow([feature.id or "", lon, lat, *map(_cell, values)])


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value


def _table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows; a column whose name begins with > is aligned to the right."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _show_features(console: Console, result: Features) -> None:
    shown = result[:MAX_ROWS]
    with_distance = any("distance_m" in feature for feature in shown)
    columns = ["Element", "Name", "Kind", *([">Distance"] if with_distance else []), "Position"]
    _table(console, columns, _feature_rows(shown, with_distance))
    count = len(result)
    more = f", {MAX_ROWS} of them shown; --json or -o FILE has all" if count > MAX_ROWS else ""
    console.print(f"{count:,} found{more}", highlight=False)
    missing = result.members.get("missing", ())
    for ref in missing:
        console.print(f"{ref['type']}/{ref['id']} is not in this dataset", highlight=False)
    if not count:
        raise typer.Exit(1)


def _feature_rows(features: Iterable[Feature], with_distance: bool) -> Iterator[list[str]]:
    for feature in features:
        distance = feature.get("distance_m")
        cells = [] if distance is None else [format_distance(distance)]
        yield [
            feature.id or "",
            str(feature.get("name") or ""),
            find_kind(feature),
            *(cells or ([""] if with_distance else [])),
            _position(feature),
        ]


#: Keys that say what an element is, the most telling first.
_KINDS: Final = (
    "amenity", "shop", "tourism", "leisure", "office", "craft", "healthcare", "historic", "highway",
    "railway", "public_transport", "natural", "waterway", "landuse", "place", "boundary",
    "building", "man_made", "power", "barrier", "addr:housenumber",
)  # fmt: skip


def find_kind(feature: Feature) -> str:
    """Return what an element is, as its most telling tag."""
    for key in _KINDS:
        value = feature.get(key)
        if value:
            return f"{key}={value}"
    return ""


def _position(feature: Feature) -> str:
    try:
        lon, lat = feature.lonlat
    except ValueError:
        return ""
    return f"{lat:.5f},{lon:.5f}"


def _show_feature(console: Console, result: Feature) -> None:
    console.print(f"[bold]{escape(result.id or '')}[/bold]  {_position(result)}")
    rows = ((k, str(_cell(v))) for k, v in result.properties.items())
    _table(console, ["Property", "Value"], rows)


def _show_places(console: Console, result: Places) -> None:
    if not result:
        typer.secho("nothing found", err=True)
        raise typer.Exit(1)
    rows = []
    for place in result:
        distance, confidence = place.get("distance_m"), place.get("confidence")
        figure = format_distance(distance) if distance is not None else f"{confidence or 0:.0%}"
        kind = place.get("subcategory") or place.get("category") or place.get("source") or ""
        rows.append([str(place["display_name"]), str(kind), figure, _position(place)])
    is_reverse = any(place.get("distance_m") is not None for place in result)
    _table(console, ["Place", "Kind", ">Distance" if is_reverse else ">Match", "Position"], rows)


def _show_route(console: Console, result: Route) -> None:
    if result.steps:
        rows = ((format_distance(s["distance_m"]), s["instruction"]) for s in result.steps)
        _table(console, [">", ""], rows)
    for route in (result, *result.alternatives):
        console.print(
            f"[bold]{format_distance(route.distance_m)}[/bold], "
            f"[bold]{format_duration(route.duration_s)}[/bold] by {route['mode']}",
            highlight=False,
        )


def _show_areas(console: Console, result: Areas) -> None:
    rows = []
    for area in result:
        seconds, meters = area.get("time_seconds"), area.get("distance_meters")
        within = format_duration(seconds) if seconds is not None else format_distance(meters)
        rows.append([within, format_area(area["area_m2"])])
    _table(console, ["Within", ">Area"], rows)


def _show_matrix(console: Console, result: Matrix) -> None:
    rows, columns = result.shape
    cells = [[str(i), *(_pair(result, i, j) for j in range(columns))] for i in range(rows)]
    _table(console, [">From", *(f">To {j}" for j in range(columns))], cells)


def _pair(result: Matrix, i: int, j: int) -> str:
    duration_s, distance_m = float(result.durations_s[i, j]), float(result.distances_m[i, j])
    if duration_s != duration_s:
        return "no way"
    return f"{format_duration(duration_s)}, {format_distance(distance_m)}"


def _show_roads(console: Console, result: NearestRoads) -> None:
    rows = [
        [str(r.get("name") or ""), str(r.get("highway") or ""), format_distance(r["distance_m"]),
         _position(r)]
        for r in result
    ]  # fmt: skip
    _table(console, ["Road", "Kind", ">Distance", "Position"], rows)


def _show_trace(console: Console, result: MatchedTrace) -> None:
    matched = sum(leg["matched"] for leg in result.legs)
    console.print(
        f"[bold]{format_distance(result.distance_m)}[/bold], "
        f"{format_duration(result['duration_s'])} on roads; {matched} of {len(result.legs)} legs "
        f"matched, confidence {result.confidence:.0%}",
        highlight=False,
    )


def _show_tour(console: Console, result: Tour) -> None:
    rows = [
        [str(n), str(stop["waypoint_index"]), format_duration(stop["cumulative_cost_s"]),
         _position(stop)]
        for n, stop in enumerate(result, 1)
    ]  # fmt: skip
    _table(console, [">", ">Stop", ">After", "Position"], rows)
    console.print(
        f"[bold]{format_distance(result.distance_m)}[/bold], "
        f"[bold]{format_duration(result.duration_s)}[/bold] on the way",
        highlight=False,
    )


def _show_plan(console: Console, result: TourPlan) -> None:
    rows = [
        [str(tour["vehicle"]), ", ".join(str(s["id"]) for s in tour["steps"] if "id" in s),
         format_duration(tour["duration"]), format_distance(tour.get("distance", 0))]
        for tour in result.routes
    ]  # fmt: skip
    _table(console, [">Vehicle", "Tasks", ">On the way", ">Distance"], rows)
    for left in result.unassigned:
        console.print(f"{left['type']} {left['id']} is left out: {left['reason']}", highlight=False)


def _show_heights(console: Console, result: Heights) -> None:
    rows = (
        [_position(f), "no data" if (h := f.get("elevation_m")) is None else f"{h:.1f} m"]
        for f in result
    )
    _table(console, ["Position", ">Height"], rows)


def _show_profile(console: Console, result: Profile) -> None:
    heights = [height for height in result["elevations_m"] if height is not None]
    least, most = min(heights), max(heights)
    step = max(1, len(heights) // _WIDTH)
    scale = (len(_BARS) - 1) / max(most - least, 1e-9)
    console.print("".join(_BARS[round((height - least) * scale)] for height in heights[::step]))
    console.print(
        f"{format_distance(result['distance_m'])}, {least:.0f} to {most:.0f} m, "
        f"[bold]{result['total_ascent_m']:.0f} m up[/bold], "
        f"[bold]{result['total_descent_m']:.0f} m down[/bold]",
        highlight=False,
    )


def _show_tags(console: Console, result: TagCounts) -> None:
    rows = ([r.key if r.value is None else f"{r.key}={r.value}", f"{r.count:,}"] for r in result)
    _table(console, ["Tag", ">Elements"], rows)
    if len(result) < result.total:
        console.print(f"{len(result):,} of {result.total:,}; --limit shows more", highlight=False)


#: Kind of answer → how it is shown; the first that fits.
_SHOWN: Final[tuple[tuple[type[Any], Callable[[Console, Any], None]], ...]] = (
    (Places, _show_places),
    (Areas, _show_areas),
    (NearestRoads, _show_roads),
    (Tour, _show_tour),
    (TourPlan, _show_plan),
    (Heights, _show_heights),
    (Features, _show_features),
    (Route, _show_route),
    (MatchedTrace, _show_trace),
    (Profile, _show_profile),
    (Feature, _show_feature),
    (Matrix, _show_matrix),
    (TagCounts, _show_tags),
)
