"""Elements as files: whole extracts become tables that DuckDB, GeoPandas and QGIS read.

Rows are written as they are found, some thousands at once, so memory stays bounded. The file grows
under another name and is renamed when whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely

from mapyard.errors import InvalidRequest
from mapyard.library.results.elements import Elements
from mapyard.library.results.feature import Features, load_written
from mapyard.library.results.shapes import make_shapes
from mapyard.library.results.tables import mark_geometry, need
from mapyard.osm.elements import TYPE_NAMES
from mapyard.results.streams import stream_features

type Progress = Callable[[int], None]

#: Format → file extension.
FORMATS: Final = {
    "geoparquet": ".parquet",
    "flatgeobuf": ".fgb",
    "gpkg": ".gpkg",
    "geojson": ".geojson",
    "ndjson": ".ndjson",
    "csv": ".csv",
    "osm": ".osm.pbf",
}
_BATCH: Final = 5_000
_TYPES: Final = ("node", "way", "relation")


class Batch(NamedTuple):
    """Some elements as columns of equal length."""

    types: list[str]
    ids: list[int]
    shapes: np.ndarray[Any, Any]
    tags: list[dict[str, str]]


def export_elements(
    found: Features,
    target: Path,
    export_format: str | None = None,
    progress: Progress | None = None,
    columns: Sequence[str] = (),
) -> int:
    """Write elements to a file and return how many there are.

    Args:
        found: the elements.
        target: the file, which is replaced.
        export_format: one of FORMATS; default by the file's name.
        progress: called with the number of elements written so far.
        columns: tags that get a column of their own, besides name; all are in `tags`.

    Raises:
        InvalidRequest: an unknown format, or one that needs the dataset of this process.
        MissingPackage: pyarrow or pyogrio is not installed.
    """
    name = export_format or find_format(target)
    if name not in FORMATS:
        raise InvalidRequest.of("format", f"must be one of {', '.join(FORMATS)}, got {name}")
    tell = progress or (lambda count: None)
    # The extension stays: GDAL and osmium tell the format by it.
    part = target.with_name(f".part-{os.getpid()}-{target.name}")
    if not part.name.endswith(FORMATS[name]) and not (name == "osm" and ".osm" in part.name):
        part = part.with_name(part.name + FORMATS[name])
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if name in ("geojson", "ndjson", "csv"):
            count = _write_text(found, part, name, tell)
        elif name == "osm":
            count = _write_osm(found, part, tell)
        elif name == "geoparquet":
            count = _write_parquet(found, part, columns, tell)
        else:
            count = _write_gdal(found, part, name, columns, tell)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return count


def find_format(target: Path) -> str:
    """Return the format that a file's name tells; raise InvalidRequest."""
    name = target.name.lower()
    for export_format, extension in FORMATS.items():
        if name.endswith(extension):
            return export_format
    if name.endswith((".osm", ".osm.gz", ".osm.bz2")):
        return "osm"
    if name.endswith((".json", ".geojsonl", ".jsonl")):
        return "geojson" if name.endswith(".json") else "ndjson"
    known = ", ".join(FORMATS.values())
    raise InvalidRequest.of("target", f"the name {target.name} tells no format; end it in {known}")


def iter_batches(found: Features, tell: Progress) -> Iterator[Batch]:
    """Yield the elements in columns, and tell how many there were."""
    count = 0
    batches = _iter_rows(found) if isinstance(found, Elements) else _iter_features(found)
    for batch in batches:
        yield batch
        count += len(batch.ids)
        tell(count)


def _iter_rows(found: Elements) -> Iterator[Batch]:
    """Yield straight from the columns of the store, without JSON between."""
    store = found.call.store
    for chunk, _ in found.iter_chunks():
        for start in range(0, len(chunk), _BATCH):
            found.call.deadline.check()
            rows = np.asarray(chunk[start : start + _BATCH], np.int64)
            yield Batch(
                [TYPE_NAMES[kind] for kind in store.types(rows).tolist()],
                store.ids[rows].tolist(),
                store.geometries(rows),
                [orjson.loads(text) for text in store.tags_json(rows)],
            )


def _iter_features(found: Features) -> Iterator[Batch]:
    features: list[dict[str, Any]] = []
    for written in found.iter_written():
        features.append(load_written(written))
        if len(features) == _BATCH:
            yield _gather(features)
            features = []
    if features:
        yield _gather(features)


def _gather(features: list[dict[str, Any]]) -> Batch:
    names = [feature["id"].partition("/") for feature in features]
    return Batch(
        [name[0] for name in names],
        [int(name[2]) for name in names],
        make_shapes([feature["geometry"] for feature in features]),
        [
            {
                key.removeprefix("@") if key.startswith("@@") else key: value
                for key, value in feature["properties"].items()
                if not key.startswith("@") or key.startswith("@@")
            }
            for feature in features
        ],
    )


def _write_text(found: Features, part: Path, name: str, tell: Progress) -> int:
    if isinstance(found, Elements):
        count = 0

        def counted() -> Iterator[Any]:
            nonlocal count
            for rows, distances_m in found.iter_chunks():
                yield rows, distances_m
                count += len(rows)
                tell(count)

        with part.open("wb") as file:
            for text in stream_features(
                found.call.store,
                counted(),
                found.output,
                name,  # type: ignore[arg-type] # one of the three
                found.call.deadline,
            ):
                file.write(text)
        return count
    if name == "csv":
        frame = found.to_pandas()
        frame.to_csv(part, index=False)
        return len(frame)
    count = 0
    with part.open("wb") as file:
        file.write(b'{"type":"FeatureCollection","features":[\n' if name == "geojson" else b"")
        for count, written in enumerate(found.iter_written(), 1):
            text = written if isinstance(written, bytes) else orjson.dumps(load_written(written))
            separator = b",\n" if name == "geojson" and count > 1 else b""
            file.write(separator + text + (b"\n" if name == "ndjson" else b""))
        file.write(b"\n]}\n" if name == "geojson" else b"")
    tell(count)
    return count


def _arrow_schema(pa: Any, columns: Sequence[str], tags_type: Any) -> Any:
    fields = [pa.field("osm_type", pa.string()), pa.field("osm_id", pa.int64())]
    fields += [pa.field(name, pa.string()) for name in ("name", *columns) if name != "tags"]
    fields += [pa.field("tags", tags_type), pa.field("geometry", pa.binary())]
    return pa.schema(fields)


def _iter_tables(
    found: Features, columns: Sequence[str], tell: Progress, *, as_map: bool
) -> tuple[Any, Iterator[Any]]:
    """Return the schema and Arrow tables of all elements; tags as a map, else as JSON text."""
    pa = need("pyarrow")
    names = list(dict.fromkeys(("name", *columns)))
    tags_type = pa.map_(pa.string(), pa.string()) if as_map else pa.string()
    schema = _arrow_schema(pa, names[1:], tags_type)

    def make(batch: Batch) -> Any:
        tags: list[Any] = [list(t.items()) if as_map else orjson.dumps(t).decode()
                           for t in batch.tags]  # fmt: skip
        arrays = [pa.array(batch.types, pa.string()), pa.array(batch.ids, pa.int64())]
        arrays += [pa.array([t.get(name) for t in batch.tags], pa.string()) for name in names]
        arrays += [
            pa.array(tags, tags_type),
            pa.array(shapely.to_wkb(batch.shapes).tolist(), pa.binary()),
        ]
        return mark_geometry(pa, pa.Table.from_arrays(arrays, schema=schema))

    marked = mark_geometry(pa, schema.empty_table()).schema
    return marked, (make(batch) for batch in iter_batches(found, tell))


def _write_parquet(found: Features, part: Path, columns: Sequence[str], tell: Progress) -> int:
    parquet = need("pyarrow.parquet")
    schema, tables = _iter_tables(found, columns, tell, as_map=True)
    count = 0
    with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
            count += table.num_rows
    return count


def _write_gdal(
    found: Features, part: Path, name: str, columns: Sequence[str], tell: Progress
) -> int:
    pyogrio, pa = need("pyogrio"), need("pyarrow")
    schema, tables = _iter_tables(found, columns, tell, as_map=False)
    count = 0

    def batches() -> Iterator[Any]:
        nonlocal count
        for table in tables:
            count += table.num_rows
            yield from table.to_batches()

    # GDAL takes the geometry by the column's name, and the system of coordinates by itself.
    plain = pa.schema([field.remove_metadata() for field in schema])
    reader = pa.RecordBatchReader.from_batches(
        plain,
        (pa.RecordBatch.from_arrays(batch.columns, schema=plain) for batch in batches()),
    )
    pyogrio.write_arrow(
        reader,
        part,
        layer="elements",
        driver="GPKG" if name == "gpkg" else "FlatGeobuf",
        geometry_name="geometry",
        geometry_type="Unknown",
        crs="EPSG:4326",
    )
    return count


def _write_osm(found: Features, part: Path, tell: Progress) -> int:
    """Write the elements with all that they refer to."""
    if not isinstance(found, Elements):
        raise InvalidRequest.of("format", "osm is written from a data folder, not from a server")
    from mapyard.library.export_osm import write_extract

    rows = found.rows
    write_extract(found.call.store, rows, part, tell, found.call.deadline)
    return len(rows)
