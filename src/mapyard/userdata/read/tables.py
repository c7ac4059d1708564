"""CSV and its kin: read twice, once for the types of its columns and once for its rows."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from mapyard.geocoding.answer.batch import find_encoding
from mapyard.userdata.read.places import Placer, find_place
from mapyard.userdata.rows import (
    PORTION,
    Geocode,
    ImportFailed,
    Options,
    Portion,
    Problems,
    check_names,
)

_SNIFFED: Final = 65_536
MAX_FIELD: Final = 16 << 20
#: Whole numbers that JSON readers keep exactly; with leading zeros they are codes, not numbers.
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?")
_TRUTHS: Final = {"true": True, "false": False}


def read_csv(
    path: Path, options: Options, problems: Problems, geocode: Geocode | None
) -> Iterator[Portion]:
    """Yield the rows of a CSV; the first one names the columns."""
    csv.field_size_limit(MAX_FIELD)
    encoding = _check_encoding(options.encoding) if options.encoding else find_encoding(path)
    delimiter = options.delimiter or _find_delimiter(path, encoding)
    first = next(_iter_rows(path, encoding, delimiter), None)
    if first is None:
        raise ImportFailed("the file has no row that names its columns")
    names = check_names(first)
    place = find_place(names, options)
    placer = Placer(place, problems, geocode)
    kept = [(at, name) for at, name in enumerate(names) if name not in place.used]
    readers = _find_types(path, encoding, delimiter, [at for at, _ in kept])
    rows = islice(_iter_rows(path, encoding, delimiter), 1, None)
    number = 0
    while block := list(islice(rows, PORTION)):
        numbers = range(number + 1, number + len(block) + 1)
        number += len(block)
        columns = _split(block, len(names), numbers, problems)
        shapes = placer.shape(dict(zip(names, columns, strict=True)), numbers)
        values = [(name, read(columns[at])) for (at, name), read in zip(kept, readers, strict=True)]
        yield Portion(numbers, _join(values, len(block)), shapes)


def _split(
    block: list[list[str]], width: int, numbers: range, problems: Problems
) -> list[list[str]]:
    """Return the columns of some rows."""
    for place, row in enumerate(block):
        if len(row) > width:
            problems.add(
                numbers[place], f"has {len(row)} fields, the header {width}: the last are left out"
            )
            block[place] = row[:width]
        elif len(row) < width:
            block[place] = row + [""] * (width - len(row))
    return [list(column) for column in zip(*block, strict=True)]


def _join(columns: list[tuple[str, list[Any]]], count: int) -> list[dict[str, Any]]:
    """Return a mapping per row; what is empty is left out."""
    if not columns:
        return [{} for _ in range(count)]
    names = [name for name, _ in columns]
    return [
        {name: value for name, value in zip(names, row, strict=True) if value != ""}
        for row in zip(*(values for _, values in columns), strict=True)
    ]


def _iter_rows(path: Path, encoding: str, delimiter: str) -> Iterator[list[str]]:
    try:
        with path.open(encoding=encoding, newline="", errors="strict") as file:
            for row in csv.reader(file, delimiter=delimiter):
                if row:  # an empty line is no row
                    yield row
    except UnicodeDecodeError as error:
        raise ImportFailed(
            f"byte {error.object[error.start : error.start + 1].hex()} is not {encoding}: say in "
            "which encoding the file is, as encoding=windows-1252"
        ) from None
    except csv.Error as error:
        raise ImportFailed(f"the CSV is broken: {error}") from None


def _check_encoding(name: str) -> str:
    """Return the encoding of a name; raise ImportFailed for what is none of texts."""
    try:
        found = codecs.lookup(name)
    except LookupError:
        raise ImportFailed(f"the encoding '{name[:40]}' is not known; try utf-8") from None
    if not found._is_text_encoding or found.name in ("idna", "punycode", "unicode_escape"):
        raise ImportFailed(f"the encoding '{name[:40]}' is not one for text; try utf-8")
    return found.name


def _find_delimiter(path: Path, encoding: str) -> str:
    with path.open("rb") as file:
        head = file.read(_SNIFFED).decode(encoding, "ignore")
    first = next(iter(io.StringIO(head)), "")
    outside = re.sub(r'"[^"]*"', "", first)
    counts = {character: outside.count(character) for character in ",;\t|"}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else ","


def _find_types(path: Path, encoding: str, delimiter: str, wanted: list[int]) -> list[Any]:
    """Return for each column what turns its texts into values: numbers where all of them are."""
    states = dict.fromkeys(wanted, 0)  # 0 whole number, 1 number, 2 truth, 3 text
    seen = dict.fromkeys(wanted, False)
    rows = islice(_iter_rows(path, encoding, delimiter), 1, None)
    while block := list(islice(rows, PORTION)):
        for at in wanted:
            if states[at] == 3:
                continue
            values = {row[at] for row in block if at < len(row)} - {""}
            if not values:
                continue
            states[at] = _widen(states[at], values, is_first=not seen[at])
            seen[at] = True
    makers = (_read_integers, _read_numbers, _read_truths, _read_texts)
    return [makers[states[at]] if seen[at] else _read_texts for at in wanted]


def _widen(state: int, values: set[str], *, is_first: bool) -> int:
    if state == 0 and all(map(_INTEGER.fullmatch, values)):
        return 0
    if state in (0, 1) and all(map(_NUMBER.fullmatch, values)):
        return 1
    if (state == 2 or is_first) and all(value.lower() in _TRUTHS for value in values):
        return 2
    return 3


def _read_integers(texts: list[str]) -> list[Any]:
    return [int(text) if text else "" for text in texts]


def _read_numbers(texts: list[str]) -> list[Any]:
    return [float(text) if text else "" for text in texts]


def _read_truths(texts: list[str]) -> list[Any]:
    return [_TRUTHS[text.lower()] if text else "" for text in texts]


def _read_texts(texts: list[str]) -> list[Any]:
    return texts
