"""The command: `mapyard census amenity --bbox 43.73,7.41,43.74,7.43`."""

from __future__ import annotations

from typing import Annotated

import typer

from mapyard.cli.ask.command import run
from mapyard.cli.ask.options import Data, Json
from mapyard.library.question import find_question


def command(
    key: Annotated[str, typer.Argument(help="Key whose values are counted.")],
    bbox: Annotated[str | None, typer.Option(help="Only inside south,west,north,east.")] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Count elements by kind in a box."""
    run(find_question("census"), {"key": key, "bbox": bbox}, data=data, json=json)
