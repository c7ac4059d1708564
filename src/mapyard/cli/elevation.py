"""`mapyard elevation`: heights of positions, or the profile of a line."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mapyard.cli.local import Data, GeoJson, ask, format_distance


def command(
    positions: Annotated[list[str], typer.Argument(help="Positions: LAT,LNG each.")],
    profile: Annotated[
        bool, typer.Option("--profile", help="Take the positions as a line.")
    ] = False,
    interval: Annotated[
        float | None, typer.Option(help="With --profile: a position every so many meters.")
    ] = None,
    geojson: GeoJson = False,
    data: Data = None,
) -> None:
    """Find heights above the sea. Example: mapyard elevation 43.7384,7.4246 43.7314,7.4197"""
    path = "/api/v1/elevation/profile" if profile else "/api/v1/elevation/batch"
    parameters = {"coordinates": positions, "interval": interval if profile else None}
    answer = ask(data, "elevation", path, parameters)
    if geojson:
        typer.echo(json.dumps(answer, ensure_ascii=False))
    elif profile:
        _show_profile(answer["properties"])
    else:
        table = Table("Position", "Height", box=None)
        table.columns[1].justify = "right"
        for position, feature in zip(positions, answer["features"], strict=True):
            height_m = feature["properties"]["elevation_m"]
            table.add_row(position, "no data" if height_m is None else f"{height_m:.1f} m")
        Console().print(table)


#: Heights in eight steps, for a terminal.
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60


def _show_profile(properties: dict[str, Any]) -> None:
    heights = [height for height in properties["elevations_m"] if height is not None]
    least, most = min(heights), max(heights)
    step = max(1, len(heights) // _WIDTH)
    scale = (len(_BARS) - 1) / max(most - least, 1e-9)
    console = Console()
    console.print("".join(_BARS[round((height - least) * scale)] for height in heights[::step]))
    console.print(
        f"{format_distance(properties['distance_m'])}, {least:.0f} to {most:.0f} m, "
        f"[bold]{properties['total_ascent_m']:.0f} m up[/bold], "
        f"[bold]{properties['total_descent_m']:.0f} m down[/bold]"
    )
