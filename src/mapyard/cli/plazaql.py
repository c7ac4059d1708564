"""`mapyard plazaql`: run a PlazaQL query on the current dataset, or on a server."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import orjson
import typer

from mapyard.cli.ask.options import Data, Key, Timeout, Url, open_map
from mapyard.cli.ask.show import print_result, to_json, write_csv
from mapyard.cli.sparql import read_text


class Format(StrEnum):
    """Output formats."""

    GEOJSON = "geojson"
    NDJSON = "ndjson"
    CSV = "csv"
    TABLE = "table"


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
        typer.Option("--format", "-f", help="Default: table at a terminal, else geojson."),
    ] = None,
    timeout: Timeout = None,
    url: Url = "",
    key: Key = "",
) -> None:
    """Run a PlazaQL query and write the answer to standard output.

    Examples:

      mapyard plazaql 'search(node, amenity: "cafe").limit(10);'

      mapyard plazaql cafes.pql > cafes.geojson

      echo 'search(shop: *).group_by(t["shop"]).count();' | mapyard plazaql -
    """
    output = format or (Format.TABLE if sys.stdout.isatty() else Format.GEOJSON)
    with open_map(data, url, key) as source:
        found = source.plazaql(read_text(file), timeout=timeout)
        values = {name: found.members[name] for name in ("result", "outputs")
                  if found.members.get(name) is not None}  # fmt: skip
        out = sys.stdout.buffer
        if output is Format.GEOJSON:
            out.write(orjson.dumps(to_json(found)) + b"\n")
        elif output is Format.NDJSON:
            for feature in found:
                out.write(orjson.dumps(feature.to_geojson()) + b"\n")
        elif output is Format.CSV:
            write_csv(found, sys.stdout)
        elif found or not values:
            print_result(found)
        sys.stdout.flush()
        if output is not Format.GEOJSON and values:
            text = orjson.dumps(values.get("result", values.get("outputs"))).decode()
            typer.echo(text, err=output is not Format.TABLE)
