"""Options that all questions share, and the map that they are asked of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mapyard.library.map import Map
    from mapyard.library.remote import RemoteMap

Data = Annotated[Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")]
Url = Annotated[
    str, typer.Option(help="Ask this server instead of a data folder.", envvar="MAPYARD_URL")
]
Key = Annotated[str, typer.Option(help="API key for --url.", envvar="MAPYARD_KEY")]
Timeout = Annotated[float | None, typer.Option(help="Time limit, seconds.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", "-f",
        help="geojson, ndjson, csv, geoparquet, flatgeobuf or gpkg of features; json of anything. "
        "Default: a table.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write; its name tells the format."),
]


def open_map(data: Path | None, url: str, key: str) -> Map | RemoteMap:
    """Return the data folder, or the server where one is named."""
    from mapyard.library.doors import connect, open

    return connect(url, key=key) if url else open(data)
