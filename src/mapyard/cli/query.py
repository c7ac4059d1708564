"""`mapyard query`: run an Overpass QL query on the current dataset."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapyard.errors import InvalidRequest

if TYPE_CHECKING:
    from mapyard.geocoding.geocoder import Geocoder
    from mapyard.overpass.engine import Result
    from mapyard.overpass.run.budget import Budget
    from mapyard.store.reader import Store


class Format(StrEnum):
    """Output formats."""

    GEOJSON = "geojson"
    NDJSON = "ndjson"
    CSV = "csv"
    TABLE = "table"
    JSON = "json"
    XML = "xml"


def command(
    file: Annotated[str, typer.Argument(help="File with Overpass QL, or - for standard input.")],
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            "-f",
            help="geojson, ndjson, csv and table; json and xml are native Overpass formats. "
            "csv has the columns of [out:csv(…)], else type, id, position and all tags.",
        ),
    ] = Format.GEOJSON,
    bbox: Annotated[
        str, typer.Option(help="What {{bbox}} stands for: south,west,north,east.")
    ] = "",
    timeout: Annotated[float | None, typer.Option(help="Time limit, seconds.")] = None,
) -> None:
    """Run an Overpass QL query on the current dataset and write the answer to standard output."""
    from mapyard.dataset.catalog import Catalog
    from mapyard.deadline import Deadline
    from mapyard.http.macro_places import make_geocode
    from mapyard.overpass.engine import run_text
    from mapyard.overpass.parse.macros import Surroundings
    from mapyard.overpass.run.budget import Budget
    from mapyard.settings import get_settings
    from mapyard.store.reader import open_store

    settings = get_settings()
    text = _read(file)
    folder = Catalog(data or settings.data).get_current()
    store = open_store(folder / "elements")
    deadline = Deadline(timeout or settings.timeout_s)
    surroundings = Surroundings(
        box=_read_box(bbox), geocode=make_geocode(store, _find_geocoder(folder, store))
    )
    result = run_text(
        store, text, deadline=deadline, surroundings=surroundings, max_bytes=settings.query_bytes
    )
    for warning in result.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    _write(store, folder, result, output, Budget(deadline, settings.query_bytes))


def _find_geocoder(folder: Path, store: Store) -> Geocoder | None:
    from mapyard.geocoding.geocoder import open_geocoder

    try:
        return open_geocoder(folder / "text", store)
    except FileNotFoundError:
        return None


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    if not Path(file).is_file():
        raise InvalidRequest.of("FILE", f"there is no file {file}")
    return Path(file).read_text(encoding="utf-8")


def _read_box(text: str) -> tuple[float, float, float, float] | None:
    if not text:
        return None
    try:
        south, west, north, east = map(float, text.split(","))
    except ValueError:
        raise InvalidRequest.of("bbox", "must be south,west,north,east") from None
    return south, west, north, east


def _write(store: Store, folder: Path, result: Result, output: Format, budget: Budget) -> None:
    from mapyard.dataset.manifest import read_manifest
    from mapyard.overpass.write.entries import list_entries
    from mapyard.overpass.write.geojson import stream_features
    from mapyard.overpass.write.native import write_native

    out = sys.stdout.buffer
    if output in (Format.GEOJSON, Format.NDJSON):
        entries = list_entries(store, result.outs, result.warnings, budget)
        as_lines = output == Format.NDJSON
        for part in stream_features(store, entries, budget.deadline, as_lines=as_lines):
            out.write(part)
        for tags in entries.counts:
            typer.echo("Count: " + ", ".join(f"{k} {v}" for k, v in tags.items()), err=True)
    elif output == Format.TABLE:
        _print_table(store, result, budget)
    elif output == Format.CSV and not result.settings.csv_columns:
        out.write(_write_csv(store, result, budget))
    else:
        timestamp = read_manifest(folder).osm_timestamp or ""
        out.write(write_native(store, result, output.value, timestamp, budget))
    out.flush()


def _elements(store: Store, result: Result, budget: Budget) -> list[dict[str, object]]:
    from mapyard.overpass.write.osmjson import read_elements, write_out

    return [
        element
        for out, found in result.outs
        for part in write_out(store, out, found, budget)
        for element in read_elements(part)
    ]


def _write_csv(store: Store, result: Result, budget: Budget) -> bytes:
    """Return CSV with one column for every key that occurs."""
    from mapyard.overpass.parse.syntax import CsvColumn, Settings
    from mapyard.overpass.write.osmcsv import write_document
    from mapyard.overpass.write.osmjson import write_out

    keys: dict[str, None] = {}
    for element in _elements(store, result, budget):
        tags = element.get("tags", {})
        assert isinstance(tags, dict)
        if element["type"] != "count":
            keys.update(dict.fromkeys(tags))
    columns = [CsvColumn(name, is_meta=True) for name in ("type", "id", "lat", "lon")]
    columns += [CsvColumn(key, is_meta=False) for key in sorted(keys)]
    parts = (p for out, found in result.outs for p in write_out(store, out, found, budget))
    settings = Settings(csv_columns=tuple(columns), csv_separator=",")
    return write_document(parts, settings, budget)


def _print_table(store: Store, result: Result, budget: Budget) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("Type", "Id", "Name", "Tags", box=None)
    table.columns[1].justify = "right"
    elements = _elements(store, result, budget)
    for element in elements:
        tags = element.get("tags", {})
        assert isinstance(tags, dict)
        rest = ", ".join(f"{k}={v}" for k, v in tags.items() if k != "name")
        cells = (str(element["type"]), str(element.get("id", "")), tags.get("name", ""), rest)
        table.add_row(*map(escape, cells))
    console = Console()
    console.print(table)
    console.print(f"{len(elements):,} elements")
