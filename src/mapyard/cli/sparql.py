"""`mapyard sparql`: run a query on the current dataset."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mapyard.dataset.catalog import Catalog
from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest
from mapyard.settings import get_settings


class Format(StrEnum):
    """Output formats."""

    GEOJSON = "geojson"
    JSON = "json"
    XML = "xml"
    CSV = "csv"
    TSV = "tsv"
    TURTLE = "turtle"
    NTRIPLES = "ntriples"


def command(
    file: Annotated[str, typer.Argument(help="File with a SPARQL query, or - for standard input.")],
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    output: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="geojson (default), json, xml, csv or tsv for SELECT; json or xml for ASK; "
            "turtle (default) or ntriples for CONSTRUCT and DESCRIBE.",
        ),
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Time limit, seconds.")] = None,
) -> None:
    """Run a SPARQL query on the current dataset and write the answer to standard output."""
    from mapyard.sparql.engine import Engine, Truth
    from mapyard.sparql.osm.source import OsmSource
    from mapyard.sparql.run.runtime import Limits
    from mapyard.store.reader import open_store

    settings = get_settings()
    if file == "-":
        text = sys.stdin.read()
    elif Path(file).is_file():
        text = Path(file).read_text(encoding="utf-8")
    else:
        raise InvalidRequest.of("FILE", f"there is no file {file}")
    catalog = Catalog(data or settings.data)
    store = open_store(catalog.get_current() / "elements")
    engine = Engine(OsmSource(store), Limits(max_bytes=settings.query_bytes))
    result = engine.query(text, Deadline(timeout or settings.timeout_s))
    if isinstance(result, Truth) and output is None:
        typer.echo("true" if result.value else "false")
        return
    for part in _write(result, output, store):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def _write(result: object, output: Format | None, store: object) -> Iterator[bytes]:
    from mapyard.results.pages import open_collection
    from mapyard.sparql.engine import Solutions, Triples, Truth
    from mapyard.sparql.write import solutions as tables
    from mapyard.sparql.write import triples as graphs
    from mapyard.sparql.write.features import FeatureWriter
    from mapyard.store.reader import Store

    writers: dict[Format, Callable[..., Iterator[bytes]]]
    if isinstance(result, Truth):
        one = {Format.JSON: tables.write_json_boolean, Format.XML: tables.write_xml_boolean}
        writers = {name: lambda r, w=write: iter((w(r.value),)) for name, write in one.items()}
    elif isinstance(result, Triples):
        writers = {Format.TURTLE: graphs.write_turtle, Format.NTRIPLES: graphs.write_n_triples}
        output = output or Format.TURTLE
    else:
        assert isinstance(result, Solutions)
        assert isinstance(store, Store)
        if output in (None, Format.GEOJSON):
            yield open_collection()
            separator = b""
            for features in FeatureWriter(result, store).write():
                yield separator + b",\n".join(features)
                separator = b",\n"
            yield b"]}"
            return
        writers = {
            Format.JSON: tables.write_json, Format.XML: tables.write_xml,
            Format.CSV: tables.write_csv, Format.TSV: tables.write_tsv,
        }  # fmt: skip
    if output not in writers:
        raise InvalidRequest.of("format", f"this query gives {', '.join(sorted(writers))}")
    yield from writers[output](result)
