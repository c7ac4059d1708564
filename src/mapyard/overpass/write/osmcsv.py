"""`[out:csv(…)]`: one line per element, made from the elements of the JSON output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mapyard.overpass.parse.syntax import CsvColumn, Settings
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import read_elements

_TYPE_NUMBERS = {"node": 1, "way": 2, "relation": 3}
_COUNTS = {
    "count": "total", "count:nodes": "nodes", "count:ways": "ways",
    "count:relations": "relations", "count:areas": "areas",
}  # fmt: skip


def write_document(parts: Iterable[bytes], settings: Settings, budget: Budget) -> bytes:
    """Return the CSV document of runs of elements in JSON (see osmjson.write_out)."""
    separator = settings.csv_separator
    lines = []
    if settings.csv_header:
        names = [("@" if c.is_meta else "") + c.name for c in settings.csv_columns]
        lines.append(separator.join(_quote(name, separator) for name in names))
    for part in parts:
        budget.check(len(part) * 12)
        for element in read_elements(part):
            fields = (_field(element, column) for column in settings.csv_columns)
            lines.append(separator.join(_quote(field, separator) for field in fields))
    return ("\n".join(lines) + "\n").encode("utf-8", "replace") if lines else b""


def _quote(text: str, separator: str) -> str:
    """Return a field quoted by RFC 4180 where that is needed."""
    if any(character in text for character in ('"', "\n", "\r")) or separator in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _field(element: dict[str, Any], column: CsvColumn) -> str:
    if not column.is_meta:
        return str(element.get("tags", {}).get(column.name, ""))
    name = column.name
    if name == "otype":
        return str(_TYPE_NUMBERS.get(element["type"], 4))
    if name in ("lat", "lon"):
        position = _position(element, name)
        return "" if position is None else f"{position:.7f}"
    if name in _COUNTS:
        is_count = element["type"] == "count"
        return str(element["tags"].get(_COUNTS[name], "0")) if is_count else ""
    return str(element.get(name, ""))


def _position(element: dict[str, Any], name: str) -> float | None:
    """Return a node's position, or the middle that `out center`, `bb` or `geom` gave."""
    if name in element:
        return float(element[name])
    if "center" in element:
        return float(element["center"][name])
    bounds = element.get("bounds")
    return None if bounds is None else float((bounds["min" + name] + bounds["max" + name]) / 2)
