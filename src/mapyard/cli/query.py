"""`mapyard query`: run an Overpass QL query on the current dataset, or on a server."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import orjson
import typer

from mapyard.cli.ask.options import Data, Key, Timeout, Url, open_map
from mapyard.cli.ask.show import print_result, to_json, write_csv
from mapyard.cli.sparql import read_text
from mapyard.errors import InvalidRequest


class Format(StrEnum):
    """Output formats."""

    GEOJSON = "geojson"
    NDJSON = "ndjson"
    CSV = "csv"
    TABLE = "table"
    JSON = "json"
    XML = "xml"


def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-|QUERY",
            help="A file, - for standard input, or the query itself.",
        ),
    ],
    data: Data = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="geojson, ndjson, csv and table; json and xml are native Overpass formats. "
            "csv has the columns of [out:csv(…)], else id, position and all tags. "
            "Default: table at a terminal, else geojson.",
        ),
    ] = None,
    bbox: Annotated[
        str, typer.Option(help="What {{bbox}} stands for: south,west,north,east.")
    ] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the steps: rows expected and found, and time.")
    ] = False,
    timeout: Timeout = None,
    url: Url = "",
    key: Key = "",
) -> None:
    """Run an Overpass QL query and write the answer to standard output.

    Examples:

      mapyard query 'node[amenity=cafe];out;' --format table

      mapyard query cafes.ql > cafes.geojson

      echo 'node[amenity=cafe];out;' | mapyard query - --format csv
    """
    from mapyard.library.results.overpass import OverpassResult

    output = format or (Format.TABLE if sys.stdout.isatty() else Format.GEOJSON)
    with open_map(data, url, key) as source:
        if explain:
            typer.echo(source.explain_overpass(read_text(file), bbox=bbox or None, timeout=timeout))
            return
        found = source.overpass(read_text(file), bbox=bbox or None, timeout=timeout)
        for warning in found.warnings:
            typer.echo(f"Warning: {warning}", err=True)
        out = sys.stdout.buffer
        is_csv = isinstance(found, OverpassResult) and found.is_csv
        if output in (Format.JSON, Format.XML) or (output is Format.CSV and is_csv):
            if not isinstance(found, OverpassResult):
                raise InvalidRequest.of(
                    "format", f"{output} is written from a data folder; leave --url out"
                )
            native = found.native(output)
            for part in (native,) if isinstance(native, bytes) else native:
                out.write(part)
        elif output is Format.NDJSON:
            for feature in found:
                out.write(orjson.dumps(feature.to_geojson()) + b"\n")
        elif output is Format.CSV:
            write_csv(found, sys.stdout)
        elif output is Format.GEOJSON:
            out.write(orjson.dumps(to_json(found)) + b"\n")
        for counts in found.counts:
            typer.echo("Count: " + ", ".join(f"{k} {v}" for k, v in counts.items()), err=True)
        if output is Format.TABLE and (found or not found.counts):
            print_result(found)
        sys.stdout.flush()
