from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import numpy as np
import pytest
import shapely

from mapyard.deadline import Cancelled, Deadline
from mapyard.results.output import Output
from mapyard.results.streams import Chunk, Format, stream_features
from mapyard.store.reader import Store

FORMATS: list[Format] = ["geojson", "csv", "ndjson"]


def cafes(store: Store) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return store.sort_by_eid(store.rows_with_tag("amenity", "cafe").astype(np.int64))


def read(store: Store, chunks: list[Chunk], output: Output, stream_format: Format) -> bytes:
    return b"".join(stream_features(store, chunks, output, stream_format))


def test_geojson_and_ndjson_hold_the_same_features(monaco_store: Store) -> None:
    rows = cafes(monaco_store)
    chunks: list[Chunk] = [(rows[:3], None), (rows[3:3], None), (rows[3:], None)]
    whole = json.loads(read(monaco_store, chunks, Output(), "geojson"))
    lines = read(monaco_store, chunks, Output(), "ndjson").splitlines()
    assert whole["features"] == [json.loads(line) for line in lines]
    assert [f["osm_id"] for f in whole["features"]] == monaco_store.ids[rows].tolist()
    assert "attribution" in whole


def test_csv_has_a_column_for_each_field(monaco_store: Store) -> None:
    rows = cafes(monaco_store)
    distances_m = np.arange(len(rows), dtype=float)
    output = Output(fields=["name", "cuisine"], precision=3)
    text = read(monaco_store, [(rows, distances_m)], output, "csv").decode()
    table = list(csv.DictReader(io.StringIO(text)))
    assert list(table[0]) == [
        "@type", "@id", "lon", "lat", "distance_m", "name", "cuisine", "geometry",
    ]  # fmt: skip
    assert len(table) == len(rows)
    for line, row, distance in zip(table, rows.tolist(), distances_m, strict=True):
        tags = monaco_store.tags(row)
        assert line["name"] == tags.get("name", "")
        assert line["cuisine"] == tags.get("cuisine", "")
        assert int(line["@id"]) == monaco_store.ids[row]
        assert float(line["distance_m"]) == distance
        shape = shapely.from_wkt(line["geometry"])
        assert shapely.distance(shape, monaco_store.geometries(np.array([row]))[0]) < 0.001


def test_csv_without_fields_has_all_tags_as_json(monaco_store: Store) -> None:
    rows = cafes(monaco_store)[:2]
    text = read(monaco_store, [(rows, None)], Output(geometry=False), "csv").decode()
    table = list(csv.DictReader(io.StringIO(text)))
    assert list(table[0]) == ["@type", "@id", "lon", "lat", "name", "tags"]
    assert json.loads(table[1]["tags"]) == monaco_store.tags(int(rows[1]))


@pytest.mark.parametrize("stream_format", FORMATS)
def test_nothing_found_is_a_whole_empty_answer(monaco_store: Store, stream_format: Format) -> None:
    text = read(monaco_store, [], Output(), stream_format)
    if stream_format == "geojson":
        assert json.loads(text)["features"] == []
    else:
        assert text.splitlines() == (
            [b"@type,@id,lon,lat,name,tags,geometry"] if stream_format == "csv" else []
        )


@pytest.mark.parametrize("stream_format", FORMATS)
def test_a_failure_midway_passes_through(monaco_store: Store, stream_format: Format) -> None:
    def chunks() -> Iterator[Chunk]:
        yield cafes(monaco_store)[:2], None
        raise TimeoutError

    stream = stream_features(monaco_store, chunks(), Output(), stream_format)
    sent = []
    with pytest.raises(TimeoutError):
        sent.extend(stream)
    assert not b"".join(sent).endswith(b"]}\n")


@pytest.mark.parametrize("stream_format", FORMATS)
def test_a_deadline_ends_the_making_over_of_geometries(
    monaco_store: Store, stream_format: Format
) -> None:
    rows = monaco_store.listed[:500].astype(np.int64)
    deadline = Deadline(60.0)
    stream = stream_features(
        monaco_store, [(rows, None)], Output(simplify=5), stream_format, deadline
    )
    deadline.cancel()
    with pytest.raises(Cancelled):
        list(stream)
    plain = stream_features(monaco_store, [(rows, None)], Output(), stream_format, Deadline(60.0))
    assert len(b"".join(plain)) > 100_000


def test_large_chunks_are_written_in_batches(monaco_store: Store) -> None:
    rows = monaco_store.listed.astype(np.int64)
    pieces = list(stream_features(monaco_store, [(rows, None)], Output(geometry=False), "ndjson"))
    assert len(pieces) > 5
    assert sum(piece.count(b"\n") for piece in pieces) == len(rows)
