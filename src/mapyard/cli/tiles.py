"""`mapyard tiles`: write all tiles of a dataset into one file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mapyard.cli.answers import AsJson, report
from mapyard.errors import InvalidRequest, NotInstalled

app = typer.Typer(help="Vector tiles as files.", no_args_is_help=True)


class Format(StrEnum):
    """Kinds of archives."""

    PMTILES = "pmtiles"
    MBTILES = "mbtiles"


@app.callback()
def _group() -> None:
    """Vector tiles as files."""


@app.command()
def export(
    out: Annotated[Path | None, typer.Argument(help="File to write; default map.FORMAT.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    kind: Annotated[Format, typer.Option("--format", "-f", help="Kind of archive.")] = (
        Format.PMTILES
    ),
    zooms: Annotated[str, typer.Option(help="First and last zoom.")] = "0-14",
    bbox: Annotated[
        str | None, typer.Option(help="south,west,north,east: only tiles that meet it.")
    ] = None,
    processes: Annotated[int, typer.Option(min=0, help="Processes; 0 is one per core.")] = 0,
    force: Annotated[bool, typer.Option(help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the tiles of the current dataset as PMTiles or MBTiles."""
    from mapyard.builder.progress import Reporter
    from mapyard.dataset.catalog import Catalog
    from mapyard.settings import get_settings
    from mapyard.tiles.archive import list_tiles, write_archive
    from mapyard.tiles.mbtiles import MbtilesWriter
    from mapyard.tiles.pmtiles import PmtilesWriter
    from mapyard.tiles.source import TABLE_FOLDER
    from mapyard.tiles.table import Table
    from mapyard.tiles.tilejson import describe_archive

    first, last = parse_zooms(zooms)
    path = out or Path(f"map.{kind}")
    if path.exists() and not force:
        raise InvalidRequest.of("out", f"{path} exists; overwrite it with --force")
    if not path.absolute().parent.is_dir():
        raise InvalidRequest.of("out", f"there is no folder {path.parent}")
    folder = Catalog(data or get_settings().data).get_current() / TABLE_FOLDER
    try:
        table = Table(folder)
    except FileNotFoundError:
        raise NotInstalled.part("tiles") from None
    tiles = list_tiles(table, first, last, parse_grid_box(bbox) if bbox else None)
    writer = PmtilesWriter(path) if kind is Format.PMTILES else MbtilesWriter(path)
    try:
        with Reporter() as progress:
            progress.stage("tiles", total=len(tiles), unit="tiles")
            count = write_archive(folder, tiles, writer, processes, progress.advance)
            writer.close(describe_archive(table.info), table.info.bounds)
    except BaseException:
        writer.abort()
        raise
    size = path.stat().st_size
    value = {"file": str(path), "tiles": count, "size_bytes": size}
    report(as_json, value, f"{path}: {count:,} tiles, {size:,} bytes")


def parse_zooms(text: str) -> tuple[int, int]:
    """Return first and last zoom of "0-14" or "12"."""
    first, _, last = text.partition("-")
    last = last or first
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) <= 14):
        raise InvalidRequest.of("zooms", "write them as 0-14, within 0 and 14")
    return int(first), int(last)


def parse_grid_box(text: str) -> tuple[int, int, int, int]:
    """Return a box on the grid of tiles of "south,west,north,east"."""
    import numpy as np

    from mapyard.tiles.mercator import project

    try:
        south, west, north, east = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest.of("bbox", "four numbers are needed: south,west,north,east") from None
    if not (-90 <= south <= north <= 90 and -180 <= west <= east <= 180):
        raise InvalidRequest.of("bbox", "south ≤ north and west ≤ east are needed, in degrees")
    (x0, y0), (x1, y1) = project(np.array([[west, north], [east, south]])).astype(int).tolist()
    return x0, y0, x1, y1
