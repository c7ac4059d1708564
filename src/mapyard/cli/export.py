"""`mapyard export`: elements as files for DuckDB, QGIS, GeoPandas, osmium."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from mapyard.cli.answers import AsJson, report
from mapyard.cli.ask.options import Data
from mapyard.params.raw import Raw, put_raw


def command(
    format: Annotated[
        str,
        typer.Argument(help="geoparquet, flatgeobuf, gpkg, geojson, ndjson, csv or osm."),
    ],
    target: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only elements with this tag: amenity=cafe, building, name=~^Caf; several must "
            "all hold.",
        ),
    ] = None,
    type: Annotated[
        str | None, typer.Option(help="Only node, way or relation; several by comma.")
    ] = None,
    bbox: Annotated[str | None, typer.Option(help="Only inside south,west,north,east.")] = None,
    near: Annotated[str | None, typer.Option(help="Only around LAT,LNG.")] = None,
    radius: Annotated[float | None, typer.Option(help="Of --near, meters; default 500.")] = None,
    columns: Annotated[
        str,
        typer.Option(help="Tags with a column of their own, by comma (not for osm and GeoJSON)."),
    ] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many elements.")] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write elements to a file: all of a dataset, or those that filters let through.

    Tables have the columns osm_type, osm_id, name, tags (all of them) and geometry. osm is an
    extract (.osm.pbf or .osm) with everything that the elements refer to. Memory stays bounded.

    Examples:

      mapyard export geoparquet monaco.parquet

      mapyard export gpkg cafes.gpkg --where amenity=cafe --columns opening_hours,website

      mapyard export osm roads.osm.pbf --where highway
    """
    from mapyard.library.doors import open
    from mapyard.library.export import export_elements

    raw: Raw = {"type": type, "bbox": bbox, "near": near, "radius": radius, "limit": limit}
    for text in where or ():
        name, separator, value = text.partition("=")
        put_raw(raw, f"tags[{name}]" if separator else "tags", value or text)
    console = Console(stderr=True)
    with (
        open(data) as source,
        Progress(
            TextColumn("{task.completed:,} elements"),
            TimeElapsedColumn(),
            console=console,
            disable=not sys.stderr.isatty(),
        ) as progress,
    ):
        task = progress.add_task("", total=None)
        values: dict[str, Any] = {"self": source, **raw}
        found = source._ask("features", values)
        names = [name.strip() for name in columns.split(",") if name.strip()]
        count = export_elements(
            found, target, format, lambda done: progress.update(task, completed=done), names
        )
    if as_json:
        report(True, {"elements": count, "file": str(target)})
    else:
        console.print(f"{count:,} elements in {target}", highlight=False, markup=False)
