"""`mapyard geocode`: addresses of a CSV file, or one text, without a server."""

from __future__ import annotations

import csv
import itertools
import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from mapyard.cli.ask.command import run
from mapyard.cli.ask.options import Json, Key, Url
from mapyard.dataset.catalog import Catalog
from mapyard.deadline import no_deadline
from mapyard.errors import InvalidRequest, MapyardError, NotInstalled
from mapyard.geocoding.batch import (
    ADDED,
    Options,
    added_values,
    answer_rows,
    check_columns,
    find_delimiter,
    find_encoding,
    find_unused,
    kept_columns,
)
from mapyard.geocoding.geocoder import Geocoder, open_geocoder
from mapyard.geocoding.matching import Filters
from mapyard.library.question import find_question
from mapyard.settings import get_settings
from mapyard.store.reader import open_store

_CHUNK = 500


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE.csv|-|TEXT",
            help="A CSV file with a header line (- is standard input), or one address.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV to write; default standard output.")
    ] = None,
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
    """Geocode a CSV file of any length, or one address, or say what is at a position.

    The columns q (or address), name, street, housenumber, neighbourhood, postcode, city, county,
    state, country, lang are read together, lat and lon as the position nearby which to look, or
    alone (reverse). All columns are kept, those that are not read are named, and those of the best
    match are added, or written anew where an earlier run added them. A row that is not found has
    the reason in match_error.

    Examples:

      mapyard geocode customers.csv -o customers-placed.csv --workers 4

      mapyard geocode "Rue Grimaldi 5, Monaco"

      mapyard geocode "43.7384, 7.4246"
    """
    filters = Filters(countries=tuple(c.strip().upper() for c in country.split(",") if c.strip()))
    langs = tuple(part.strip() for part in lang.split(",") if part.strip())
    if source != "-" and not Path(source).is_file():
        if source.lower().endswith(".csv"):
            raise MapyardError(f"there is no file {source}")
        raw = {"q": source, "limit": limit, "country_code": country, "lang": lang}
        run(find_question("geocode"), raw, data=data, url=url, key=key, json=json)
        return
    if url:
        raise MapyardError("a file is geocoded from a data folder; leave --url out")
    folder = _find_dataset(data)
    options = Options(1, filters, langs=langs)
    with ExitStack() as stack:
        read: IO[str] = sys.stdin
        if source != "-":
            encoding = encoding or find_encoding(Path(source))
            try:
                read = stack.enter_context(Path(source).open(encoding=encoding, newline=""))
            except LookupError:
                raise MapyardError(f"there is no encoding {encoding}") from None
        write: IO[str] = sys.stdout
        if output is not None:
            write = stack.enter_context(output.open("w", encoding="utf-8", newline=""))
        try:
            rows, found = _geocode_file(folder, read, write, options, workers)
        except csv.Error as error:
            raise InvalidRequest(f"{source} cannot be read as CSV: {error}") from None
    typer.echo(f"{rows} rows, {found} found", err=True)


def _find_dataset(data: Path | None) -> Path:
    folder = Catalog(data or get_settings().data).get_current()
    if not (folder / "text").is_dir():
        raise NotInstalled.part("text")
    return folder


def _open(folder: Path) -> Geocoder:
    return open_geocoder(folder / "text", open_store(folder / "elements"))


def _geocode_file(
    folder: Path, read: IO[str], write: IO[str], options: Options, workers: int
) -> tuple[int, int]:
    """Write the answers of all rows in order; return how many rows there were and were found."""
    header = read.readline()
    delimiter = find_delimiter(header)
    columns = check_columns(next(csv.reader([header], delimiter=delimiter), None))
    reader = csv.DictReader(read, columns, delimiter=delimiter, restkey="", restval="")
    writer = csv.writer(write, delimiter=delimiter)
    unused = find_unused(columns)
    if unused:
        typer.echo(f"not used: {', '.join(unused)}", err=True)
    kept = kept_columns(columns)
    writer.writerow([*kept, *ADDED])
    total = found = 0
    with ExitStack() as stack:
        show = stack.enter_context(_Meter())
        for chunk, answers in _answer_chunks(folder, reader, options, workers, stack):
            for row, added in zip(chunk, answers, strict=True):
                writer.writerow([*(row[name] for name in kept), *added])
            total += len(chunk)
            found += sum(not added[ADDED.index("match_error")] for added in answers)
            show.update(total, found)
    return total, found


def _answer_chunks(
    folder: Path,
    rows: Iterable[dict[str, str]],
    options: Options,
    workers: int,
    stack: ExitStack,
) -> Iterator[tuple[list[dict[str, str]], list[list[Any]]]]:
    chunks = itertools.batched(rows, _CHUNK, strict=False)
    if workers == 1:
        _start_worker(folder, options)
        for chunk in chunks:
            yield list(chunk), _answer_chunk(list(chunk))[1]
        return
    context = multiprocessing.get_context("spawn")
    pool = stack.enter_context(
        ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(folder, options))
    )
    # A window of chunks under way keeps the order, and memory bounded.
    window: deque[Future[Any]] = deque()
    for chunk in chunks:
        window.append(pool.submit(_answer_chunk, list(chunk)))
        if len(window) >= 4 * workers:
            yield window.popleft().result()
    for pending in window:
        yield pending.result()


_worker: tuple[Geocoder, Options] | None = None


def _start_worker(folder: Path, options: Options) -> None:
    global _worker
    _worker = (_open(folder), options)


def _answer_chunk(
    chunk: list[dict[str, str]],
) -> tuple[list[dict[str, str]], list[list[Any]]]:
    assert _worker is not None
    geocoder, options = _worker
    answers = answer_rows(geocoder, chunk, options, no_deadline())
    return chunk, [added_values(answer) for answer in answers]


class _Meter:
    """Rows, rate and hits on standard error while a file is geocoded."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.completed:,} rows"),
            BarColumn(pulse_style="cyan"),
            TextColumn("{task.fields[rate]:,.0f} rows/s, {task.fields[found]:.1%} found"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._started_s = time.monotonic()

    def __enter__(self) -> _Meter:
        self._progress.start()
        self._task = self._progress.add_task("", total=None, rate=0.0, found=0.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, rows: int, found: int) -> None:
        """Show the state after so many rows."""
        seconds = max(1e-6, time.monotonic() - self._started_s)
        self._progress.update(
            self._task, completed=rows, rate=rows / seconds, found=found / max(1, rows)
        )
