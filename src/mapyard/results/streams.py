"""Whole results as streams of bytes, one chunk of rows in memory at a time.

Chunks come from a generator that may raise midway; the exception passes through, and whoever sends
the stream breaks the connection off, so that nobody takes a part for the whole.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.osm.elements import TYPE_NAMES
from mapyard.results.features import find_names, write_features, write_tags
from mapyard.results.output import Output
from mapyard.results.pages import ATTRIBUTION, open_collection
from mapyard.results.shaping import find_boxes, find_centers, iter_shaped
from mapyard.store.portions import iter_portions
from mapyard.store.reader import Rows, Store

type Format = Literal["geojson", "csv", "ndjson"]
#: Rows in the order of the result, and their distances in proximity queries.
type Chunk = tuple[Rows, NDArray[np.float64] | None]

MEDIA_TYPES: Final[dict[Format, str]] = {
    "geojson": "application/geo+json",
    "csv": "text/csv; charset=utf-8; header=present",
    "ndjson": "application/jsonl",
}
#: Features made at once: bounds memory whatever the chunks are.
_BATCH: Final = 1_000


def stream_features(
    store: Store,
    chunks: Iterable[Chunk],
    output: Output,
    stream_format: Format,
    deadline: Deadline | None = None,
    attribution: str = ATTRIBUTION,
) -> Iterator[bytes]:
    """Yield the features of all chunks in a format.

    `deadline` is looked at while geometries are made over; `chunks` look at it themselves.
    """
    batches = _iter_batches(store, chunks)
    match stream_format:
        case "geojson":
            return _stream_geojson(store, batches, output, deadline, attribution)
        case "ndjson":
            return _stream_ndjson(store, batches, output, deadline)
        case "csv":
            return _stream_csv(store, batches, output, deadline)


def _iter_batches(store: Store, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    for rows, distances_m in chunks:
        for portion in iter_portions(store, rows):
            for start in range(portion.start, portion.stop, _BATCH):
                part = slice(start, min(start + _BATCH, portion.stop))
                yield rows[part], None if distances_m is None else distances_m[part]


def _stream_geojson(
    store: Store,
    batches: Iterator[Chunk],
    output: Output,
    deadline: Deadline | None,
    attribution: str,
) -> Iterator[bytes]:
    yield open_collection(attribution=attribution)
    separator = b"\n"
    for rows, distances_m in batches:
        features = write_features(store, rows, output, distances_m=distances_m, deadline=deadline)
        yield separator + b",\n".join(features)
        separator = b",\n"
    yield b"\n]}\n"


def _stream_ndjson(
    store: Store, batches: Iterator[Chunk], output: Output, deadline: Deadline | None
) -> Iterator[bytes]:
    for rows, distances_m in batches:
        features = write_features(store, rows, output, distances_m=distances_m, deadline=deadline)
        yield b"\n".join(features) + b"\n"


def _stream_csv(
    store: Store, batches: Iterator[Chunk], output: Output, deadline: Deadline | None
) -> Iterator[bytes]:
    """Write a header row and one row per element.

    Columns: @type (but for people's own datasets), @id, lon, lat (center of the box), distance_m in
    proximity queries, @name where languages are asked for, then the asked tags (`output[fields]`)
    or name and all tags as a JSON object, then the geometry as WKT.
    """
    named = output.fields is not None
    tag_columns = output.fields if output.fields is not None else ["name", "tags"]
    header: list[str] | None = None
    for rows, distances_m in batches:
        lines = io.StringIO()
        writer = csv.writer(lines)
        if header is None:
            header = _first_columns(store)
            header += ["distance_m"] if distances_m is not None else []
            header += ["@name"] if output.lang else []
            header += tag_columns + (["geometry"] if output.geometry else [])
            writer.writerow(header)
        columns = _find_columns(store, rows, output, distances_m)
        for leading, tags_json, trailing in zip(
            zip(*columns, strict=True),
            write_tags(store, rows, output.fields),
            _write_wkt(store, rows, output, deadline),
            strict=True,
        ):
            tags = orjson.loads(tags_json)
            texts = (
                [tags.get(column, "") for column in tag_columns]
                if named
                else [tags.get("name", ""), tags_json.decode()]
            )
            writer.writerow([*leading, *texts, *trailing])
        yield lines.getvalue().encode()
    if header is None:
        header = [*_first_columns(store), *(["@name"] if output.lang else []), *tag_columns]
        yield (",".join([*header, *(["geometry"] if output.geometry else [])]) + "\r\n").encode()


def _first_columns(store: Store) -> list[str]:
    return [*([] if store.is_own else ["@type"]), "@id", "lon", "lat"]


def _find_columns(
    store: Store, rows: Rows, output: Output, distances_m: NDArray[np.float64] | None
) -> list[list[object]]:
    geometries = store.geometries(rows)
    centers = np.round(find_centers(find_boxes(geometries)), output.precision)
    known = ~np.isnan(centers[:, 0])
    kinds: list[object] = [TYPE_NAMES[kind] for kind in store.types(rows).tolist()]
    columns: list[list[object]] = [
        *([] if store.is_own else [kinds]),
        store.ids[rows].tolist(),
        *([v if k else "" for v, k in zip(axis.tolist(), known.tolist(), strict=True)]
          for axis in centers.T),
    ]  # fmt: skip
    if distances_m is not None:
        columns.append(np.round(distances_m, 2).tolist())
    if output.lang:
        columns.append([*find_names(store, rows, output.lang)])
    return columns


def _write_wkt(
    store: Store, rows: Rows, output: Output, deadline: Deadline | None
) -> list[list[str]]:
    if not output.geometry:
        return [[]] * len(rows)
    written: list[list[str]] = []
    for part in iter_shaped(store.geometries(rows), output, deadline):
        texts = shapely.to_wkt(part, rounding_precision=output.precision, trim=True)
        written += [[text or ""] for text in texts.tolist()]
    return written
