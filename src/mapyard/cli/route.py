"""`mapyard route`: a route between positions, as instructions or GeoJSON."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mapyard.cli.local import Data, GeoJson, Mode, ask, format_distance, format_duration


def command(
    positions: Annotated[
        list[str], typer.Argument(help="Origin, positions on the way, destination: LAT,LNG each.")
    ],
    mode: Mode = "auto",
    lang: Annotated[str, typer.Option(help="Language of the instructions.")] = "en",
    exclude: Annotated[
        str, typer.Option(help="toll, motorway, ferry, unpaved, tunnel, bridge; with commas.")
    ] = "",
    geojson: GeoJson = False,
    data: Data = None,
) -> None:
    """Find a route. Example: mapyard route 43.7384,7.4246 43.7314,7.4197 --mode foot"""
    if len(positions) < 2:
        raise typer.BadParameter("two positions or more are needed, LAT,LNG each")
    parameters = {
        "origin": positions[0],
        "destination": positions[-1],
        "waypoints": "|".join(positions[1:-1]),
        "mode": mode,
        "lang": lang,
        "exclude": exclude,
        "steps": True,
    }
    feature = ask(data, "route", "/api/v1/route", parameters)
    if geojson:
        typer.echo(json.dumps(feature, ensure_ascii=False))
        return
    properties = feature["properties"]
    table = Table(box=None, show_header=False)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column()
    for step in properties["steps"]:
        table.add_row(format_distance(step["distance_m"]), step["instruction"])
    console = Console()
    console.print(table)
    console.print(
        f"[bold]{format_distance(properties['distance_m'])}[/bold], "
        f"[bold]{format_duration(properties['duration_s'])}[/bold] by {mode}"
    )
