"""`mapyard overpass convert`: write a query in another form."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from mapyard.cli.sparql import read_text

app = typer.Typer(help="Overpass queries as texts.", no_args_is_help=True)


class Form(StrEnum):
    """Forms of a query."""

    XML = "xml"
    MAPQL = "mapql"
    COMPACT = "compact"


@app.callback()
def _group() -> None:
    """Overpass queries as texts."""


@app.command("convert")
def convert_file(
    file: Annotated[
        str, typer.Argument(help="File with Overpass QL or its XML form, or - for standard input.")
    ],
    to: Annotated[
        Form,
        typer.Option(help="xml, Overpass QL with line breaks (mapql), or on one line (compact)."),
    ] = Form.MAPQL,
) -> None:
    """Write a query in another form to standard output; nothing is run.

    Examples:

      mapyard overpass convert saved.xml

      echo 'node[amenity=cafe];out;' | mapyard overpass convert - --to xml
    """
    from mapyard.overpass.convert.forms import convert

    text = convert(read_text(file), to)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
