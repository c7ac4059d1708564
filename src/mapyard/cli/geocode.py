"""`mapyard geocode`: addresses of a file, or one text, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapyard.cli.ask.command import run
from mapyard.cli.ask.options import Json, Key, Url
from mapyard.cli.geocode_files import FILE_SUFFIXES, geocode_file
from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError, NotInstalled
from mapyard.geocoding.answer.batch import Options
from mapyard.geocoding.search.matching import Filters
from mapyard.library.question import find_question
from mapyard.settings import get_settings


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-|TEXT",
            help="A CSV file with a header line, or NDJSON (- is standard input), or one address.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV or .ndjson to write; default standard output."),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="csv, ndjson, or table for people; default: as -o is called, a table at a "
            "terminal, else as the file.",
        ),
    ] = "",
    data: Annotated[
        Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes; the rows keep their order.")
    ] = 1,
    country: Annotated[
        str, typer.Option(help="ISO 3166-1 alpha-2 codes by comma; results elsewhere do not count.")
    ] = "",
    lang: Annotated[str, typer.Option(help="Languages of names by comma, best first.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=20, help="Results of one address; a file has one per row.")
    ] = 5,
    encoding: Annotated[
        str, typer.Option(help="Encoding of the file; found by itself where it is not given.")
    ] = "",
    url: Url = "",
    key: Key = "",
    json: Json = False,
) -> None:
    """Geocode a file of any length, or one address, or say what is at a position.

    A line of NDJSON is a text, an object of address parts, or a position.

    Of CSV, these columns are read together: q (or address), name, street, housenumber,
    neighbourhood, postcode, city, county, state, country, lang. With lat and lon, results near
    that position come first; alone they are looked up (reverse). Your columns are kept, and those
    of the best match are added; columns that an earlier run added are overwritten. A row that is
    not found has the reason in match_error. Columns that are not read are named at the end.

    Examples:

      mapyard geocode customers.csv -o customers-placed.csv --workers 4

      mapyard geocode addresses.ndjson -f csv > placed.csv

      mapyard geocode "Rue Grimaldi 5, Monaco"

      mapyard geocode "43.7384, 7.4246"
    """
    filters = Filters(countries=tuple(c.strip().upper() for c in country.split(",") if c.strip()))
    langs = tuple(part.strip() for part in lang.split(",") if part.strip())
    if source != "-" and not Path(source).is_file():
        if source.lower().endswith(FILE_SUFFIXES):
            raise MapyardError(f"there is no file {source}")
        raw = {"q": source, "limit": limit, "country_code": country, "lang": lang}
        run(find_question("geocode"), raw, data=data, url=url, key=key, json=json)
        return
    if url:
        raise MapyardError("a file is geocoded from a data folder; leave --url out")
    rows, found = geocode_file(
        source, output, _find_dataset(data), Options(1, filters, langs=langs),
        workers=workers, encoding=encoding, form=form or ("ndjson" if json else ""),
    )  # fmt: skip
    typer.echo(f"{rows:,} rows, {found:,} found", err=True)


def _find_dataset(data: Path | None) -> Path:
    folder = Catalog(data or get_settings().data).get_current()
    if not (folder / "text").is_dir():
        raise NotInstalled.part("text")
    return folder
