"""Input files: CSV, NDJSON, Parquet and GeoParquet, a block of rows at a time."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from mapyard.bulk.blocks import Block, BulkFailed, Kind
from mapyard.errors import InvalidRequest
from mapyard.geocoding.answer.batch import find_delimiter, find_encoding
from mapyard.library.results.tables import need

type Form = Literal["csv", "ndjson", "parquet"]

FORMS: Final[dict[str, Form]] = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson",
    ".geojsonl": "ndjson", ".ndgeojson": "ndjson", ".parquet": "parquet",
    ".geoparquet": "parquet",
}  # fmt: skip
MAX_FIELD: Final = 64 << 20
#: Rows that belong together (a trace) and are therefore held at once.
MAX_GROUP: Final = 50_000
#: Rows of an NDJSON file that tell which columns there are.
_LOOKED_AT: Final = 1_000
_INTEGER: Final = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")


def find_form(path: Path) -> Form:
    """Return the form of a file by its name; raise for other names."""
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise InvalidRequest(
            f"{path.name}: the name tells the format; it must end in {', '.join(FORMS)}"
        )
    return form


class Source(ABC):
    """An input file."""

    #: Names of the columns. Of NDJSON those that its first rows have.
    columns: list[str]
    #: The column whose values are geometries by what the file says of itself, "" without.
    geometry = ""
    #: How many rows there are, where the file tells.
    total: int | None = None
    delimiter = ","

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def iter_blocks(self, size: int, group: str = "") -> Iterator[Block]:
        """Yield all rows; with `group`, rows that follow each other and share it stay together."""

    @abstractmethod
    def find_kinds(self) -> dict[str, Kind]:
        """Return what the columns hold, by a look at all rows; for output with types."""

    @abstractmethod
    def share_read(self) -> float:
        """Return which share of the file was read so far, 0 to 1."""


def open_source(path: Path, encoding: str = "") -> Source:
    """Open an input file; raise where it cannot be read."""
    match find_form(path):
        case "csv":
            return CsvSource(path, encoding)
        case "ndjson":
            return NdjsonSource(path)
        case "parquet":
            return ParquetSource(path)


class _LineSource(Source):
    """A text file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._size = max(1, path.stat().st_size)
        self._at: Callable[[], int] = lambda: 0

    def share_read(self) -> float:
        """Return which share of the file was read so far."""
        return min(1.0, self._at() / self._size)

    def _open(self) -> io.BufferedReader:
        raw = io.FileIO(self.path)
        self._at = lambda: self._size if raw.closed else raw.tell()
        return io.BufferedReader(raw, 1 << 18)


class CsvSource(_LineSource):
    """CSV: the first row names the columns; all values are texts."""

    def __init__(self, path: Path, encoding: str = "") -> None:
        super().__init__(path)
        csv.field_size_limit(MAX_FIELD)
        try:
            self.encoding = encoding or find_encoding(path)
            with path.open(encoding=self.encoding, newline="") as file:
                self.delimiter = find_delimiter(file.readline())
        except LookupError:
            raise BulkFailed(f"there is no encoding {encoding}") from None
        self.columns = next(self._iter_rows(), [])
        if not self.columns:
            raise BulkFailed(f"{path} is empty; its first row must name the columns")
        twice = {name for name in self.columns if self.columns.count(name) > 1}
        if twice:
            raise BulkFailed(f"{path} has two columns called {', '.join(sorted(twice))}")

    def iter_blocks(self, size: int, group: str = "") -> Iterator[Block]:
        """Yield blocks of rows."""
        width = len(self.columns)
        rows = islice(self._iter_rows(), 1, None)

        def read() -> Iterator[tuple[dict[str, Any], str]]:
            for row in rows:
                problem = ""
                if len(row) > width:
                    problem = f"has {len(row)} fields, the header {width}"
                row += [""] * (width - len(row))
                yield dict(zip(self.columns, row, strict=False)), problem

        yield from _gather(read(), size, group)

    def find_kinds(self) -> dict[str, Kind]:
        """Return integer or number for columns where all texts are such."""
        kinds: dict[str, Kind | None] = dict.fromkeys(self.columns)
        for row in islice(self._iter_rows(), 1, None):
            for name, text in zip(self.columns, row, strict=False):
                known = kinds[name]
                if not text or known == "text":
                    continue
                if known in (None, "integer") and _INTEGER.fullmatch(text):
                    kinds[name] = "integer"
                elif known in (None, "integer", "number") and _NUMBER.fullmatch(text):
                    kinds[name] = "number"
                else:
                    kinds[name] = "text"
        return {name: kind or "text" for name, kind in kinds.items()}

    def _iter_rows(self) -> Iterator[list[str]]:
        with self._open() as raw, io.TextIOWrapper(raw, self.encoding, newline="") as file:
            try:
                yield from (row for row in csv.reader(file, delimiter=self.delimiter) if row)
            except csv.Error as error:
                raise BulkFailed(f"{self.path} cannot be read as CSV: {error}") from None
            except UnicodeDecodeError as error:
                raise BulkFailed(
                    f"{self.path} is not in {self.encoding} ({error}); name the right --encoding"
                ) from None


class NdjsonSource(_LineSource):
    """A JSON object a line; of GeoJSON features, the properties are the columns."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        names: dict[str, None] = {}
        for row, _ in islice(self._iter_rows(), _LOOKED_AT):
            names |= dict.fromkeys(read_properties(row))
            if is_feature(row):
                self.geometry = "geometry"
        self.columns = list(names)
        if not self.columns:
            raise BulkFailed(f"{path} has no JSON object in its first lines")

    def iter_blocks(self, size: int, group: str = "") -> Iterator[Block]:
        """Yield blocks of rows."""
        return _gather(self._iter_rows(), size, group)

    def find_kinds(self) -> dict[str, Kind]:
        """Return the kind that holds all values of a member."""
        kinds: dict[str, Kind] = dict.fromkeys(self.columns, "truth")
        seen: set[str] = set()
        for row, _ in self._iter_rows():
            for name, value in read_properties(row).items():
                if value is None:
                    continue
                kind = _kind_of(value)
                known = kinds.get(name)
                if name not in seen or known is None:
                    kinds[name] = kind
                elif kind != known:
                    numbers = {kind, known} == {"integer", "number"}
                    kinds[name] = "number" if numbers else "json"
                seen.add(name)
        if self.geometry:
            kinds[self.geometry] = "shape"
        return {name: kind if name in seen or kind == "shape" else "text"
                for name, kind in kinds.items()}  # fmt: skip

    def _iter_rows(self) -> Iterator[tuple[dict[str, Any], str]]:
        with self._open() as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(b"\xef\xbb\xbf").lstrip(b"\x1e").strip()
                if not text:
                    continue
                try:
                    row = orjson.loads(text)
                except orjson.JSONDecodeError as error:
                    shown = text[:10_000].decode(errors="replace")
                    yield {"line": shown}, f"line {number} is not JSON: {error}"
                    continue
                if isinstance(row, dict):
                    yield row, ""
                else:
                    yield (
                        {"q": row} if isinstance(row, str) else {"value": row},
                        ("" if isinstance(row, str) else f"line {number} is not an object"),
                    )


def is_feature(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a GeoJSON feature."""
    return row.get("type") == "Feature" and "geometry" in row


def read_properties(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members of a row: of a feature its properties, id and geometry."""
    if not is_feature(row):
        return row
    found = dict(row.get("properties") or {})
    if "id" in row:
        found.setdefault("id", row["id"])
    return {**found, "geometry": row["geometry"]}


def _kind_of(value: Any) -> Kind:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "integer" if -(2**63) <= value < 2**63 else "json"
    if isinstance(value, float):
        return "number"
    return "text" if isinstance(value, str) else "json"


class ParquetSource(Source):
    """Parquet, with a geometry column where it is GeoParquet."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        parquet, arrow = need("pyarrow.parquet"), need("pyarrow")
        try:
            self._file = parquet.ParquetFile(path)
            self.schema = self._file.schema_arrow
            geo = orjson.loads((self.schema.metadata or {}).get(b"geo", b"{}"))
        except (arrow.ArrowException, orjson.JSONDecodeError) as error:
            raise BulkFailed(f"{path} cannot be read as Parquet: {error}") from None
        self.columns = list(self.schema.names)
        self.total = self._file.metadata.num_rows
        self._done = 0
        self.geometry = geo.get("primary_column", "")
        described = geo.get("columns", {}).get(self.geometry, {})
        if self.geometry and described.get("encoding", "WKB") != "WKB":
            raise BulkFailed(
                f"the geometries of '{self.geometry}' are written as {described['encoding']}; "
                "write them as WKB, as is GeoParquet's default"
            )
        crs = described.get("crs") or {"id": {"authority": "OGC", "code": "CRS84"}}
        if isinstance(crs, dict) and crs.get("id", {}).get("code") not in ("CRS84", 4326, "4326"):
            raise BulkFailed(
                f"the geometries of '{self.geometry}' are in {crs.get('name', 'another')} "
                "coordinates; transform them to longitude and latitude (EPSG:4326) first"
            )

    def iter_blocks(self, size: int, group: str = "") -> Iterator[Block]:
        """Yield blocks of rows, as tables."""
        arrow = need("pyarrow")
        number, held = 0, None
        for batch in self._file.iter_batches(batch_size=size):
            table = arrow.Table.from_batches([batch])
            if held is not None:
                table, held = arrow.concat_tables([held, table]), None
            if group:
                if table.num_rows > MAX_GROUP:
                    raise _too_long(group)
                table, held = _cut_group(table, group)
                if not table.num_rows:
                    continue
            self._done += table.num_rows
            yield Block(number, None, table=table)
            number += 1
        if held is not None and held.num_rows:
            yield Block(number, None, table=held)

    def find_kinds(self) -> dict[str, Kind]:
        """Return nothing: the file's own schema is kept."""
        return {}

    def share_read(self) -> float:
        """Return which share of the rows was read so far."""
        return self._done / max(1, self.total or 0)


def _cut_group(table: Any, group: str) -> tuple[Any, Any]:
    """Return a table up to where its last group begins, and the rest."""
    values = table.column(group).to_pylist()
    cut = len(values)
    while cut and values[cut - 1] == values[-1]:
        cut -= 1
    return table.slice(0, cut), table.slice(cut)


def _gather(rows: Iterator[tuple[dict[str, Any], str]], size: int, group: str) -> Iterator[Block]:
    number, held = 0, Block(0, [])
    for row, problem in rows:
        assert held.rows is not None
        is_full = len(held.rows) >= size
        if is_full and group:
            last = read_properties(held.rows[-1]).get(group)
            is_full = last != read_properties(row).get(group)
            if len(held.rows) > MAX_GROUP:
                raise _too_long(group)
        if is_full:
            yield held
            number += 1
            held = Block(number, [])
        if problem:
            held.problems[len(held.rows or ())] = problem
        assert held.rows is not None
        held.rows.append(row)
    if held.rows:
        yield held


def _too_long(group: str) -> BulkFailed:
    return BulkFailed(
        f"more than {MAX_GROUP:,} rows in a row have the same '{group}'; a trace has at most "
        "10,000 points: cut it, or name the column that tells traces apart"
    )
