"""Files of addresses: CSV and NDJSON of any length in, CSV, NDJSON or a table for people out."""

from __future__ import annotations

import csv
import itertools
import multiprocessing
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Final, Literal

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from mapyard.deadline import no_deadline
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.geocoding.answer.batch import (
    ADDED,
    IDS,
    Answer,
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
from mapyard.library.results.places import write_row
from mapyard.store.reader import open_store

type Form = Literal["csv", "ndjson", "table"]

NDJSON_SUFFIXES: Final = (".ndjson", ".jsonl", ".geojsonl", ".ndgeojson")
FILE_SUFFIXES: Final = (".csv", ".tsv", ".txt", *NDJSON_SUFFIXES)
#: Rows of a table for people; a file has all.
MAX_SHOWN: Final = 100
_CHUNK: Final = 500


class Rows:
    """The rows of a file; those that cannot be read are errors in their place."""

    def __init__(self, file: IO[str], name: str) -> None:
        first = file.readline()
        #: Columns of CSV, [] of NDJSON, whose rows have none.
        self.columns: list[str] = []
        self.delimiter = ","
        self._file = file
        if name.lower().endswith(NDJSON_SUFFIXES) or first.lstrip("\ufeff \t").startswith(
            ("{", "[")
        ):
            self.rows = self._read_json(itertools.chain([first.removeprefix("\ufeff")], file))
            return
        self.delimiter = find_delimiter(first)
        self.columns = check_columns(next(csv.reader([first], delimiter=self.delimiter), None))
        reader = csv.DictReader(
            file, self.columns, delimiter=self.delimiter, restkey="", restval=""
        )
        self.rows = iter(reader)

    def _read_json(self, lines: Iterable[str]) -> Iterator[Any]:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield _Unreadable(f"line {number} is not JSON: {error}")


class _Unreadable(str):
    """What is wrong with a line."""

    __slots__ = ()


def find_form(name: str, output: Path | None, rows: Rows) -> Form:
    """Return the form to write in: as asked for, as the file is called, or as the rows came."""
    if name:
        if name not in ("csv", "ndjson", "table"):
            raise InvalidRequest.of("format", f"{name} is not csv, ndjson or table")
        return name  # type: ignore[return-value] # one of them
    if output is not None:
        return "ndjson" if output.suffix.lower() in NDJSON_SUFFIXES else "csv"
    if sys.stdout.isatty():
        return "table"
    return "csv" if rows.columns else "ndjson"


def geocode_file(
    source: str,
    output: Path | None,
    folder: Path,
    options: Options,
    *,
    workers: int,
    encoding: str,
    form: str,
) -> tuple[int, int]:
    """Write the answers of all rows in order; return how many rows there were and were found."""
    with ExitStack() as stack:
        read: IO[str] = sys.stdin
        if source != "-":
            encoding = encoding or find_encoding(Path(source))
            try:
                read = stack.enter_context(Path(source).open(encoding=encoding, newline=""))
            except LookupError:
                raise MapyardError(f"there is no encoding {encoding}") from None
        rows = Rows(read, source)
        written = find_form(form, output, rows)
        write: IO[str] = sys.stdout
        if output is not None:
            write = stack.enter_context(output.open("w", encoding="utf-8", newline=""))
        unused = find_unused(rows.columns)
        if unused:
            typer.echo(f"not used: {', '.join(unused)}", err=True)
        try:
            return _write(rows, written, write, folder, options, workers)
        except csv.Error as error:
            raise InvalidRequest(f"{source} cannot be read as CSV: {error}") from None


def _write(
    rows: Rows, form: Form, file: IO[str], folder: Path, options: Options, workers: int
) -> tuple[int, int]:
    writers: dict[Form, Callable[[Rows, IO[str]], _Writer]] = {
        "csv": _CsvWriter, "ndjson": _NdjsonWriter, "table": _TableWriter,
    }  # fmt: skip
    total = found = 0
    with ExitStack() as stack:
        writer = writers[form](rows, file)
        show = stack.enter_context(_Meter(is_shown=form != "table"))
        for chunk, answers in _answer_chunks(folder, rows.rows, options, workers, form, stack):
            for row, answer in zip(chunk, answers, strict=True):
                writer.add(row, answer)
            total += len(chunk)
            found += sum(is_found for is_found, _ in answers)
            show.update(total, found)
        writer.close()
    return total, found


# ---- forms ------------------------------------------------------------------------------------

#: Whether a row was found, and what a writer needs of its answer.
_Said = tuple[bool, Any]


class _Writer(ABC):
    """Writes each row as it is answered."""

    def __init__(self, rows: Rows, file: IO[str]) -> None:
        self._rows, self._file = rows, file

    @abstractmethod
    def add(self, row: Any, answer: _Said) -> None:
        """Write one row and what was found for it."""

    def close(self) -> None:
        """Write what is left."""
        self._file.flush()


class _CsvWriter(_Writer):
    def __init__(self, rows: Rows, file: IO[str]) -> None:
        super().__init__(rows, file)
        self._kept = kept_columns(rows.columns)
        self._writer = csv.writer(file, delimiter=rows.delimiter)
        self._writer.writerow([*(self._kept or ["q"]), *ADDED])

    def add(self, row: Any, answer: _Said) -> None:
        own = [row[name] for name in self._kept] if self._kept else [_as_text(row)]
        self._writer.writerow([*own, *answer[1]])


class _NdjsonWriter(_Writer):
    def add(self, row: Any, answer: _Said) -> None:
        self._file.write(answer[1] + "\n")


class _TableWriter(_Writer):
    """The first rows as a table: what was asked, what was found, how sure that is, where."""

    def __init__(self, rows: Rows, file: IO[str]) -> None:
        super().__init__(rows, file)
        self._count = 0
        self._table = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("Asked", "Found", "Level"):
            self._table.add_column(name)
        self._table.add_column("Sure", justify="right")
        self._table.add_column("Position")
        no_parts = {*find_unused(rows.columns), *ADDED, *IDS}
        self._asked = [name for name in rows.columns if name not in no_parts]

    def add(self, row: Any, answer: _Said) -> None:
        self._count += 1
        if self._count > MAX_SHOWN:
            return
        asked = _as_text(row)
        if self._asked:
            asked = ", ".join(row[name] for name in self._asked if row[name])
        added = dict(zip(ADDED, answer[1], strict=True))
        if not answer[0]:
            self._table.add_row(escape(asked), f"[red]{escape(added['match_error'])}[/red]")
            return
        sure = f"{added['match_confidence']:.0%}" if added["match_confidence"] != "" else ""
        lost = f" [dim](not: {escape(added['match_unmatched'])})[/dim]"
        self._table.add_row(
            escape(asked),
            escape(added["match_display_name"]) + (lost if added["match_unmatched"] else ""),
            added["match_level"], sure, f"{added['match_lat']:.5f}, {added['match_lon']:.5f}",
        )  # fmt: skip

    def close(self) -> None:
        console = Console(file=self._file)
        console.print(self._table)
        if self._count > MAX_SHOWN:
            more = f"{MAX_SHOWN} of {self._count:,} rows shown; -o FILE.csv has all"
            console.print(more, highlight=False)


def _as_text(row: Any) -> str:
    return row if isinstance(row, str) else orjson.dumps(row).decode()


# ---- answers ----------------------------------------------------------------------------------


def _answer_chunks(
    folder: Path,
    rows: Iterable[Any],
    options: Options,
    workers: int,
    form: Form,
    stack: ExitStack,
) -> Iterator[tuple[list[Any], list[_Said]]]:
    chunks = itertools.batched(rows, _CHUNK, strict=False)
    if workers == 1:
        _start_worker(folder, options, form)
        for chunk in chunks:
            yield _answer_chunk(list(chunk))
        return
    context = multiprocessing.get_context("spawn")
    pool = stack.enter_context(
        ProcessPoolExecutor(
            workers, context, initializer=_start_worker, initargs=(folder, options, form)
        )
    )
    # A window of chunks under way keeps the order, and memory bounded.
    window: deque[Future[tuple[list[Any], list[_Said]]]] = deque()
    for chunk in chunks:
        window.append(pool.submit(_answer_chunk, list(chunk)))
        if len(window) >= 4 * workers:
            yield window.popleft().result()
    for pending in window:
        yield pending.result()


_worker: tuple[Geocoder, Options, Form] | None = None


def _start_worker(folder: Path, options: Options, form: Form) -> None:
    global _worker
    geocoder = open_geocoder(folder / "text", open_store(folder / "elements"))
    _worker = (geocoder, options, form)


def _answer_chunk(chunk: Sequence[Any]) -> tuple[list[Any], list[_Said]]:
    assert _worker is not None
    geocoder, options, form = _worker
    said: list[_Said] = []
    for row in chunk:
        if isinstance(row, _Unreadable):
            answer = Answer([], str(row))
        else:
            answer = next(answer_rows(geocoder, [row], options, no_deadline()))
        if form == "ndjson":
            given: Any = orjson.dumps(write_row(row, answer)).decode()
        else:
            given = added_values(answer)
        said.append((bool(answer.features), given))
    return list(chunk), said


class _Meter:
    """Rows, rate and hits on standard error while a file is geocoded."""

    def __init__(self, *, is_shown: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.completed:,} rows"),
            BarColumn(pulse_style="cyan"),
            TextColumn("{task.fields[rate]:,.0f} rows/s, {task.fields[found]:.1%} found"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not (is_shown and sys.stderr.isatty()),
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
