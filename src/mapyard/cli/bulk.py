"""`mapyard bulk`: a question asked of every row of a file, on all cores."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapyard.cli.answers import AsJson, report
from mapyard.errors import InvalidRequest
from mapyard.settings import get_settings

if TYPE_CHECKING:
    from mapyard.bulk.run import Datasets, Progress

app = typer.Typer(
    help="Ask a question of every row of a file: CSV, NDJSON, Parquet or GeoParquet.\n\n"
    "All cores work, rows keep their order, a row that cannot be answered says why in `error`. A "
    "stopped run continues where it was: give the same command again.",
    no_args_is_help=True,
)

Input = Annotated[
    Path, typer.Argument(metavar="IN", help="A .csv, .ndjson or .parquet file; its name tells.")
]
Target = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, in any of these.")]
Data = Annotated[Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")]
Workers = Annotated[
    int | None, typer.Option(min=1, max=512, help="Processes; default one per core.")
]
Rows = Annotated[int, typer.Option("--block", min=1, max=100_000, help="Rows of a block.")]
Restart = Annotated[bool, typer.Option("--restart", help="Forget what a stopped run had answered.")]
Encoding = Annotated[str, typer.Option(help="Of a CSV file; found by itself where not given.")]
Lat = Annotated[str, typer.Option(help="Column of the latitude; default lat, latitude, y.")]
Lon = Annotated[str, typer.Option(help="Column of the longitude; default lon, lng, x.")]
Shape = Annotated[
    str, typer.Option(help="Column of a geometry (WKT, WKB, GeoJSON) instead of lat and lon.")
]
Langs = Annotated[str, typer.Option("--lang", help="Languages of names by comma, best first.")]
Ray = Annotated[
    str,
    typer.Option(
        help="Let the nodes of a Ray cluster work: HOST:PORT, or auto for this node's. They ask "
        "the same dataset in their data folders, or fetch regions."
    ),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="URL",
        help="Ask the regions that `fleet build` put there, each row of those around it; default, "
        "where this machine has no dataset: those that the fleet at --ray serves.",
    ),
]
Mode = Annotated[str, typer.Option(help="auto, truck, bicycle, foot, …")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other parameter of the question."),
]


@app.command()
def geocode(
    source: Input,
    target: Target,
    country: Annotated[str, typer.Option(help="ISO 3166-1 alpha-2 codes by comma.")] = "",
    lang: Langs = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 1_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Find the places of addresses.

    The columns q (or address), name, street, housenumber, postcode, city, state, country, lat, lon
    are read as by `mapyard geocode FILE`, and the best match is added as match_lat, match_lon,
    match_display_name, match_level, match_confidence and so on.

    Examples:

      mapyard bulk geocode customers.csv placed.csv

      mapyard bulk geocode customers.parquet placed.parquet --country MC --workers 8
    """
    _run("geocode", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         country=tuple(code.upper() for code in _split(country)), langs=_split(lang))  # fmt: skip


@app.command()
def reverse(
    source: Input,
    target: Target,
    radius: Annotated[float, typer.Option(min=1, max=5_000, help="Meters.")] = 200.0,
    lang: Langs = "",
    lat: Lat = "",
    lon: Lon = "",
    geometry_column: Shape = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 1_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Find the addresses at positions.

    Example:

      mapyard bulk reverse stops.csv named.csv --lat y --lon x
    """
    _run("reverse", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         radius_m=radius, langs=_split(lang),
         lat=lat, lon=lon, geometry_column=geometry_column)  # fmt: skip


@app.command()
def nearest(
    source: Input,
    target: Target,
    radius: Annotated[float, typer.Option(min=1, max=10_000, help="Meters.")] = 500.0,
    mode: Mode = "auto",
    set: Sets = None,
    lat: Lat = "",
    lon: Lon = "",
    geometry_column: Shape = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 1_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Find the nearest road of positions.

    Example:

      mapyard bulk nearest sensors.ndjson on-roads.ndjson --mode bicycle
    """
    _run("nearest", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         radius_m=radius, params=_params(set, mode),
         lat=lat, lon=lon, geometry_column=geometry_column)  # fmt: skip


@app.command()
def elevation(
    source: Input,
    target: Target,
    lat: Lat = "",
    lon: Lon = "",
    geometry_column: Shape = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 10_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Find the heights of positions, meters above the sea.

    Example:

      mapyard bulk elevation peaks.csv heights.csv
    """
    _run("elevation", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         lat=lat, lon=lon, geometry_column=geometry_column)  # fmt: skip


@app.command()
def route(
    source: Input,
    target: Target,
    mode: Mode = "auto",
    geometry: Annotated[bool, typer.Option("--geometry", help="Add the line.")] = False,
    set: Sets = None,
    lat: Annotated[str, typer.Option(help="Columns of both latitudes, by comma.")] = "",
    lon: Annotated[str, typer.Option(help="Columns of both longitudes, by comma.")] = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 1_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Find the way between two positions of each row: from_lat, from_lon, to_lat, to_lon.

    Examples:

      mapyard bulk route trips.csv measured.csv --mode bicycle

      mapyard bulk route trips.csv lines.parquet --geometry --set exclude=toll
    """
    _run("route", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         params=_params(set, mode), with_line=geometry, lat=lat, lon=lon)  # fmt: skip


@app.command()
def matrix(
    source: Input,
    target: Target,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The destinations, up to 10,000.")],
    best: Annotated[
        int | None, typer.Option(min=1, help="Only so many, the quickest to reach.")
    ] = None,
    to_id: Annotated[
        str, typer.Option(help="Their column that is written; default id, name.")
    ] = "",
    mode: Mode = "auto",
    set: Sets = None,
    lat: Lat = "",
    lon: Lon = "",
    geometry_column: Shape = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 200,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Measure times and distances from each row to the destinations of another file.

    A row is written per pair, in the order of the rows and, with --best, of the times.

    Example:

      mapyard bulk matrix customers.csv pairs.csv --to stores.csv --best 3
    """
    if not to.is_file():
        raise InvalidRequest(f"--to: there is no file {to}")
    _run("matrix", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         to=str(to.resolve()), to_id=to_id, best=best, params=_params(set, mode), lat=lat, lon=lon,
         geometry_column=geometry_column)  # fmt: skip


@app.command()
def match(
    source: Input,
    target: Target,
    by: Annotated[
        str, typer.Option(help="Column that tells traces apart; default trace, trip.")
    ] = "",
    time: Annotated[str, typer.Option(help="Column of seconds or ISO times; default time.")] = "",
    mode: Mode = "auto",
    set: Sets = None,
    lat: Lat = "",
    lon: Lon = "",
    geometry_column: Shape = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 1_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Put GPS traces on roads: a row per point, the points of a trace one after another.

    Example:

      mapyard bulk match points.parquet matched.parquet --by trip_id --time ts
    """
    _run("match", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         by=by, time=time, params=_params(set, mode),
         lat=lat, lon=lon, geometry_column=geometry_column)  # fmt: skip


@app.command()
def enrich(
    source: Input,
    target: Target,
    nearest: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME:]TAGS", help="Join the nearest element with these tags."),
    ] = None,
    within: Annotated[float, typer.Option(help="How far it may be, meters.")] = 1_000.0,
    inside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME:]TAGS", help="Join the smallest area with these tags around the row."
        ),
    ] = None,
    columns: Annotated[str, typer.Option(help="Tags that are added too, by comma.")] = "",
    lat: Lat = "",
    lon: Lon = "",
    geometry_column: Shape = "",
    data: Data = None,
    workers: Workers = None,
    block: Rows = 1_000,
    restart: Restart = False,
    encoding: Encoding = "",
    ray: Ray = "",
    store: From = "",
    as_json: AsJson = False,
) -> None:
    """Join elements of the map to rows: id, name, distance and tags.

    Nothing found leaves the columns empty.

    Examples:

      mapyard bulk enrich homes.csv rated.csv --nearest amenity=pharmacy --nearest shop=supermarket

      mapyard bulk enrich homes.parquet rated.parquet --inside town:boundary=administrative,admin_level=8 --columns population
    """  # noqa: E501
    _run("enrich", source, target, data, workers, block, restart, encoding, ray, store, as_json,
         nearest=tuple(nearest or ()), inside=tuple(inside or ()), radius_m=within,
         tags=_split(columns), lat=lat, lon=lon, geometry_column=geometry_column)  # fmt: skip


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _params(sets: list[str] | None, mode: str) -> dict[str, Any]:
    from mapyard.params.raw import Raw, put_raw

    raw: Raw = {"mode": mode}
    for text in sets or ():
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidRequest(f"--set {text}: write NAME=VALUE")
        put_raw(raw, name, value)
    return raw


def _run(
    name: str,
    source: Path,
    target: Path,
    data: Path | None,
    workers: int | None,
    block: int,
    restart: bool,
    encoding: str,
    ray: str,
    store: str,
    as_json: bool,
    **wishes: Any,
) -> None:
    from mapyard.bulk.run import OwnPool, ProcessPool, find_current, plan_bulk, run_plan
    from mapyard.bulk.tasks import Wishes

    folder = (data or get_settings().data).resolve()
    if store or (ray and not (folder / "current").exists()):
        from mapyard.fleet.bulk import find_datasets

        datasets: Datasets = find_datasets(store, ray, folder)
    else:
        datasets = find_current(folder)
    plan = plan_bulk(
        name, source, target, Wishes(**wishes), datasets, encoding=encoding, size=block
    )
    count = workers or len(os.sched_getaffinity(0))
    with ExitStack() as stack:
        show = stack.enter_context(_Meter())
        if ray:
            from mapyard.fleet.bulk import RayPool

            pool: Any = RayPool(plan.job, ray, workers)
            stack.callback(pool.close)
            lacking = f"; nodes without this dataset: {pool.without}" if pool.without else ""
            typer.echo(f"processes: {pool.workers}, nodes: {pool.nodes}{lacking}", err=True)
        elif count == 1:
            pool = OwnPool(plan.job)
        else:
            pool = ProcessPool(plan.job, count)
            stack.callback(pool.close)
        try:
            done = run_plan(plan, pool, show.update, restart=restart)
        except KeyboardInterrupt:
            typer.echo("stopped; the same command goes on from here", err=True)
            raise typer.Exit(130) from None
    if as_json:
        report(True, {
            "file": str(target), "rows": done.rows, "failed": done.failed,
            "seconds": round(done.seconds, 3),
        })  # fmt: skip
        return
    rows = f"{done.rows:,} rows in {target}"
    failed = f", {done.failed:,} without an answer (see the column error)" if done.failed else ""
    typer.echo(f"{rows}{failed}; {done.rate:,.0f} rows/s", err=True)


class _Meter:
    """Rows, rate and time left on standard error: a bar at a terminal, else a line at times."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._told_s = time.monotonic()
        self._begun_share: float | None = None

    def __enter__(self) -> _Meter:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("{task.fields[line]}"), BarColumn(),
            console=Console(stderr=True), disable=not self._is_terminal, transient=True,
        )  # fmt: skip
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0, line="starting")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Show how far it is."""
        if self._begun_share is None:
            self._begun_share = progress.share if progress.kept else 0.0
        line = write_progress(progress, self._begun_share)
        self._bar.update(self._task, completed=progress.share, line=line)
        now_s = time.monotonic()
        if not self._is_terminal and now_s - self._told_s >= 10.0:
            self._told_s = now_s
            typer.echo(line, err=True)


def write_progress(progress: Progress, begun_share: float) -> str:
    """Return a line with rows, rate and the time left."""
    share = max(1e-9, progress.share - begun_share)
    left_s = (1.0 - progress.share) / share * progress.seconds
    minutes, seconds = divmod(round(left_s), 60)
    hours, minutes = divmod(minutes, 60)
    left = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    return f"{progress.rows:,} rows{failed}, {progress.rate:,.0f} rows/s, {left} left"
