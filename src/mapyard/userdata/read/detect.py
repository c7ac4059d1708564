"""Which format a file has: by name, else by its first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mapyard.userdata.rows import ImportFailed, Options

FORMATS: Final = ("csv", "geojson", "ndjson", "geoparquet", "gpkg", "shapefile")
_BY_ENDING: Final = {
    "csv": "csv", "tsv": "csv", "txt": "csv", "geojson": "geojson", "json": "geojson",
    "ndjson": "ndjson", "jsonl": "ndjson", "geojsonl": "ndjson", "geojsonseq": "ndjson",
    "parquet": "geoparquet", "geoparquet": "geoparquet", "gpkg": "gpkg",
}  # fmt: skip
#: Media type → format, for uploads that name one.
BY_MEDIA_TYPE: Final = {
    "text/csv": "csv", "text/tab-separated-values": "csv", "application/geo+json": "geojson",
    "application/geo+json-seq": "ndjson", "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson", "application/vnd.apache.parquet": "geoparquet",
    "application/geopackage+sqlite3": "gpkg",
}  # fmt: skip
_HEAD: Final = 65_536


def detect(path: Path, options: Options) -> str:
    """Return one of FORMATS, or "zip"; raise ImportFailed where nothing tells."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise ImportFailed("the file is empty")
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    if options.format:
        return options.format
    if head.startswith(b"PAR1"):
        return "geoparquet"
    if head.startswith(b"SQLite format 3\0"):
        return "gpkg"
    if head.startswith(b"\x1f\x8b"):
        raise ImportFailed("the file is compressed by gzip; send it unpacked, or as .zip")
    found = _BY_ENDING.get(options.name.rpartition(".")[2].lower())
    if found and found != "geojson":
        return found
    text = head.lstrip(b"\xef\xbb\xbf\x1e \t\r\n")
    if text[:1] == b"{":
        return "ndjson" if _has_lines(text) else "geojson"
    if found or text[:1] == b"[":
        return "geojson"
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ImportFailed(f"the file is not one of {', '.join(FORMATS)}; name its format")
    return "csv"


def _has_lines(text: bytes) -> bool:
    """Return whether each line is an object of its own."""
    first, _, rest = text.partition(b"\n")
    return first.rstrip().endswith(b"}") and rest.lstrip(b"\x1e \t\r\n")[:1] == b"{"
