"""The whole answer in a format of the original: JSON, XML or CSV."""

from __future__ import annotations

from typing import Final

from mapyard.overpass.engine import Result
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write import osmcsv, osmhtml, osmjson, osmxml
from mapyard.store.reader import Store

MEDIA_TYPES: Final = {
    "json": "application/json",
    "xml": "application/osm3s+xml",
    "csv": "text/csv; charset=utf-8",
    "custom": "text/html; charset=utf-8",
    "popup": "text/html; charset=utf-8",
}


def write_native(
    store: Store, result: Result, output: str, timestamp: str, budget: Budget
) -> bytes:
    """Return the document in a format of the original; `timestamp` is the data's, ISO 8601."""
    if output == "json":
        return osmjson.write_document(store, result.outs, timestamp, budget)
    parts = (
        part
        for out, elements in result.outs
        for part in osmjson.write_out(store, out, elements, budget)
    )
    if output == "csv":
        return osmcsv.write_document(parts, result.settings, budget)
    if output in ("custom", "popup"):
        return osmhtml.write_document(parts, result.settings, budget)
    return osmxml.write_document(parts, timestamp, budget)
