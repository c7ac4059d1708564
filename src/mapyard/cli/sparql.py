"""`mapyard sparql`: run a query on the current dataset, or on a server."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from mapyard.cli.ask.options import Data, Key, Timeout, Url, open_map
from mapyard.errors import InvalidRequest


class Format(StrEnum):
    """Output formats."""

    GEOJSON = "geojson"
    TABLE = "table"
    JSON = "json"
    XML = "xml"
    CSV = "csv"
    TSV = "tsv"
    TURTLE = "turtle"
    NTRIPLES = "ntriples"


_MEDIA_TYPES: Final = {
    Format.GEOJSON: "application/geo+json",
    Format.JSON: "application/sparql-results+json",
    Format.XML: "application/sparql-results+xml",
    Format.CSV: "text/csv",
    Format.TSV: "text/tab-separated-values",
    Format.TURTLE: "text/turtle",
    Format.NTRIPLES: "application/n-triples",
}


def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-|QUERY", help="A file, - for standard input, or the query itself."
        ),
    ],
    data: Data = None,
    output: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="table (default at a terminal), geojson (default elsewhere), json, xml, csv or "
            "tsv for SELECT; json or xml for ASK; turtle (default) or ntriples for CONSTRUCT and "
            "DESCRIBE.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the steps: rows expected and found, and time.")
    ] = False,
    timeout: Timeout = None,
    url: Url = "",
    key: Key = "",
) -> None:
    """Run a SPARQL query and write the answer to standard output.

    Examples:

      mapyard sparql 'SELECT ?s ?n { ?s osmkey:amenity "cafe"; osmkey:name ?n }'

      mapyard sparql query.rq --format csv > cafes.csv
    """
    with open_map(data, url, key) as source:
        if explain:
            typer.echo(source.explain_sparql(read_text(file), timeout=timeout))
            return
        result = source.sparql(read_text(file), timeout=timeout)
        if result.kind == "boolean" and output is None:
            typer.echo("true" if result.boolean else "false")
            return
        if output is None and result.kind != "triples" and sys.stdout.isatty():
            output = Format.TABLE
        if output is Format.TABLE:
            _print_table(result.variables, [dict(row) for row in result])
            return
        default = Format.TURTLE if result.kind == "triples" else Format.GEOJSON
        for part in result.write(_MEDIA_TYPES[output or default]):
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


def read_text(file: str) -> str:
    """Return the text of a file, - is standard input, or the query itself; raise InvalidRequest."""
    if file == "-":
        return sys.stdin.read()
    if any(sign in file for sign in "{[;(\n"):
        return file
    if not Path(file).is_file():
        raise InvalidRequest.of(
            "QUERY", f"there is no file {file}; give a file, - for standard input, or the query"
        )
    return Path(file).read_text(encoding="utf-8")


def _print_table(variables: list[str], rows: list[dict[str, object]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*map(escape, variables), box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(escape("" if row[n] is None else str(row[n])) for n in variables))
    console = Console()
    console.print(table)
    console.print(f"{len(rows):,} solutions", highlight=False)
