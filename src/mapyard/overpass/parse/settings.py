"""Parsing of the settings before the first statement: `[out:json][timeout:25]…;`."""

from __future__ import annotations

import re
from typing import Final

from mapyard.overpass.parse.criteria import parse_box
from mapyard.overpass.parse.cursor import Cursor, suggest
from mapyard.overpass.parse.lexer import STRING, WORD
from mapyard.overpass.parse.patterns import check_pattern
from mapyard.overpass.parse.syntax import Category, CsvColumn, Refused, Settings

_OUTPUTS: Final = ("json", "xml", "csv", "custom", "popup")
_NAMES: Final = ("out", "timeout", "maxsize", "bbox", "date", "diff", "adiff")
_META_COLUMNS: Final = (
    "id", "type", "otype", "lat", "lon", "version", "timestamp", "changeset", "uid", "user",
    "count", "count:nodes", "count:ways", "count:relations", "count:areas",
)  # fmt: skip
_SUFFIXES: Final = {
    "": 1, "s": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "ki": 2**10, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip
_HISTORY: Final = "the data holds only the newest version of each element; leave it out"


def parse_settings(cursor: Cursor) -> tuple[Settings, list[Refused]]:
    """Parse all settings and the `;` that closes them."""
    found: dict[str, object] = {}
    refused: list[Refused] = []
    any_setting = False
    while cursor.at("["):
        any_setting = True
        at = cursor.advance().at
        name = cursor.read_word("setting")
        if name not in _NAMES:
            cursor.fail(
                f"unknown setting '{name}'",
                suggest(name, _NAMES) or f"settings are {', '.join(_NAMES)}",
                at + 1,
            )
        cursor.expect(":", f"write [{name}:…]")
        refusal = _parse_one(cursor, name, found, at)
        if refusal is not None:
            refused.append(refusal)
        cursor.expect("]", "close the setting with ]")
    if any_setting and not cursor.take(";"):
        cursor.fail(f"';' expected, found {cursor.found()}", "settings are closed by one ;")
    return Settings(**found), refused  # type: ignore[arg-type]  # filled by name below


def _parse_one(cursor: Cursor, name: str, found: dict[str, object], at: int) -> Refused | None:
    if name == "out":
        _parse_output(cursor, found)
    elif name == "bbox":
        found["box"] = parse_box(cursor, cursor.token.at)
    elif name == "timeout":
        found["timeout_s"] = _read_amount(cursor, "timeout in seconds")
    elif name == "maxsize":
        found["maxsize_bytes"] = int(_read_amount(cursor, "maxsize in bytes"))
    else:
        cursor.read_time("date")
        if name != "date" and cursor.take(","):
            cursor.read_time("date")
        return Refused(what=f"[{name}:…]", instead=_HISTORY, at=at)
    return None


def _read_amount(cursor: Cursor, what: str) -> float:
    at = cursor.token.at
    number = cursor.read_number(what)
    if cursor.token.kind == WORD:
        suffix = cursor.advance().text
        if suffix not in _SUFFIXES:
            cursor.fail(f"unknown unit '{suffix}'", "units are k, M, G, ki, Mi, Gi", at)
        number *= _SUFFIXES[suffix]
    if number <= 0:
        cursor.fail(f"{what} must be above 0", at=at)
    return number


def _parse_output(cursor: Cursor, found: dict[str, object]) -> None:
    word_at = cursor.token.at
    output = cursor.read_word("output format")
    if output not in _OUTPUTS:
        cursor.fail(
            f"unknown output format '{output}'",
            "GeoJSON comes without asking; write [out:json]"
            if output.lower() == "geojson"
            else suggest(output, _OUTPUTS) or "formats are json, xml, csv",
            word_at,
        )
    found["output"] = output
    if output == "csv":
        _parse_csv(cursor, found)
    elif output == "popup":
        found["categories"] = tuple(_parse_categories(cursor))


def _parse_categories(cursor: Cursor) -> list[Category]:
    """Parse `("title";[key=value][key~pattern];[key];"title key";)…`."""
    categories = []
    while cursor.take("("):
        title = cursor.read_text("title")
        cursor.take(";")
        alternatives = []
        while cursor.at("["):
            conditions = []
            while cursor.take("["):
                conditions.append(_parse_condition(cursor))
                cursor.expect("]", "a condition is written [key=value]")
            alternatives.append(tuple(conditions))
            cursor.take(";")
        title_key = "" if cursor.at(")") else cursor.read_text("key of the titles")
        cursor.take(";")
        cursor.expect(")", "the category is closed by )")
        categories.append(Category(title, tuple(alternatives), title_key))
    return categories


def _parse_condition(cursor: Cursor) -> tuple[str, str, bool]:
    key = cursor.read_text("key")
    holds = not cursor.take("!")
    if cursor.take("!="):
        return key, f"^(?:{re.escape(cursor.read_text('value'))})$", False
    if cursor.take("="):
        return key, f"^(?:{re.escape(cursor.read_text('value'))})$", holds
    if cursor.take("~"):
        at = cursor.token.at
        pattern = cursor.read_text("regular expression", is_pattern=True)
        check_pattern(cursor.source, pattern, False, at)
        return key, pattern, holds
    return key, "", True


def _parse_csv(cursor: Cursor, found: dict[str, object]) -> None:
    cursor.expect("(", 'write [out:csv(::id,::type,"name")]')
    columns = []
    while True:
        at = cursor.token.at
        if cursor.take("::"):
            name = cursor.read_text("column")
            if name not in _META_COLUMNS:
                cursor.fail(f"unknown column '::{name}'", suggest(name, _META_COLUMNS), at)
            columns.append(CsvColumn(name, is_meta=True))
        else:
            columns.append(CsvColumn(cursor.read_text("column"), is_meta=False))
        if not cursor.take(","):
            break
    found["csv_columns"] = tuple(columns)
    if cursor.take(";"):
        word = cursor.read_word("true or false")
        if word not in ("true", "false"):
            cursor.fail(f"true or false expected, found '{word}'", "whether to write a header")
        found["csv_header"] = word == "true"
    if cursor.take(";"):
        if cursor.token.kind != STRING:
            cursor.fail(f"a quoted separator expected, found {cursor.found()}", 'such as ","')
        found["csv_separator"] = cursor.read_text("separator")
    cursor.expect(")", "the columns are closed by )")
