"""`mapyard isochrone`: areas reachable within times, as sizes or GeoJSON."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mapyard.cli.local import Data, GeoJson, Mode, ask, format_duration


def command(
    position: Annotated[str, typer.Argument(help="Where from: LAT,LNG.")],
    times: Annotated[list[float], typer.Argument(help="Travel times in seconds, 1 to 7200.")],
    mode: Mode = "auto",
    geojson: GeoJson = False,
    data: Data = None,
) -> None:
    """Find reachable areas. Example: mapyard isochrone 43.7384,7.4246 300 600 --mode foot"""
    collection = ask(
        data, "isochrone", "/api/v1/isochrone", {"geometry": position, "time": times, "mode": mode}
    )
    if geojson:
        typer.echo(json.dumps(collection, ensure_ascii=False))
        return
    table = Table("Within", "Area", box=None)
    table.columns[1].justify = "right"
    for feature in collection["features"]:
        properties = feature["properties"]
        table.add_row(
            format_duration(properties["time_seconds"]), f"{properties['area_m2'] / 1e6:,.2f} km²"
        )
    Console().print(table)
