"""Writing a feature store out of portions of rows: the columns that store/ reads.

Points are rows of nodes, all other geometries rows of relations with a stored shape; ids are the
numbers of the rows in the source. Rows without a geometry are nodes without a position.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.geojson import write_geometries
from mapyard.store.columns import (
    ColumnWriter,
    open_column,
    write_column,
    write_heap,
    write_offsets,
)
from mapyard.store.derive import NO_POSITION, write_feature_rtree, write_stray_rtree
from mapyard.store.flags import AREA
from mapyard.store.frames import write_frames
from mapyard.store.key_values import KeyValuesWriter
from mapyard.store.shapes import NO_BOX
from mapyard.userdata.rows import MAX_COLUMNS, MAX_NAME, ImportFailed, Portion
from mapyard.userdata.spool import TagSpool, sort_key

#: Provisional rows of shapes: the number of points is known at the end only.
_SHAPE: Final = 1 << 31
#: Longest text of a value that filters compare; properties keep it whole.
MAX_VALUE: Final = 2_000
_KINDS: Final = {bool: "boolean", int: "integer", float: "number", str: "string",
                 list: "array", dict: "object"}  # fmt: skip


class Limits(NamedTuple):
    """How much one dataset may hold."""

    features: int
    storage_bytes: int


class Written(NamedTuple):
    """What was written."""

    feature_count: int
    storage_bytes: int
    #: Per property: its type, how many rows have it.
    schema: dict[str, Any]
    #: west, south, east, north in degrees; None without any geometry.
    bbox: list[float] | None


class _HeapWriter:
    """Byte strings appended to `name_bytes`, with their lengths in memory."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._bytes = ColumnWriter(folder, f"{name}_bytes", np.uint8)
        self._lengths: list[NDArray[np.uint32]] = []

    def append(self, items: list[bytes]) -> None:
        self._lengths.append(np.fromiter(map(len, items), np.uint32, len(items)))
        self._bytes.append(np.frombuffer(b"".join(items), np.uint8))

    @property
    def length(self) -> int:
        return self._bytes.length

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(ValueError):  # it is closed
            self._bytes.close()

    def close(self, *others: _HeapWriter) -> None:
        """Write what `others` have behind it, and the offsets of all."""
        for other in others:
            other._bytes.close()
            part = open_column(other.folder, f"{other.name}_bytes")
            for start in range(0, len(part), 1 << 24):
                self._bytes.append(part[start : start + (1 << 24)])
            self._lengths += other._lengths
            (other.folder / f"{other.name}_bytes.npy").unlink()
        self._bytes.close()
        lengths = np.concatenate(self._lengths) if self._lengths else np.empty(0, np.uint32)
        write_offsets(self.folder, f"{self.name}_offsets", lengths)


class DatasetWriter:
    """Writes one dataset into an empty folder; memory stays at a portion and 40 bytes a row."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._limits = limits
        self._work = folder / "work"
        self._work.mkdir()
        self._spool = TagSpool(self._work / "tags")
        self._point_tags = _HeapWriter(folder, "tag_json")
        self._shape_tags = _HeapWriter(self._work, "shape_tags")
        self._wkb = _HeapWriter(folder, "geometry_wkb")
        self._json = _HeapWriter(folder, "relation_json")
        self._ids: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = ([], [])
        self._positions: list[NDArray[np.int32]] = []
        self._boxes: list[NDArray[np.int32]] = []
        self._flags: list[NDArray[np.uint8]] = []
        self._counts = [0, 0]
        self._schema: dict[str, dict[str, Any]] = {}

    def add(self, portion: Portion) -> None:
        """Append rows; raise ImportFailed where the dataset becomes larger than it may."""
        shapes = portion.geometries
        kinds = shapely.get_type_id(shapes)
        is_point = kinds <= 0  # and those without a geometry
        numbers = np.asarray(portion.numbers, np.int64)
        texts = [orjson.dumps(row, default=str) for row in portion.properties]
        points, others = np.flatnonzero(is_point), np.flatnonzero(~is_point)
        rows = np.empty(len(kinds), np.int64)
        rows[points] = self._counts[0] + np.arange(len(points))
        rows[others] = self._counts[1] + np.arange(len(others)) + _SHAPE
        self._add_points(numbers[points], shapes[points])
        self._add_shapes(numbers[others], shapes[others])
        self._point_tags.append([texts[place] for place in points.tolist()])
        self._shape_tags.append([texts[place] for place in others.tolist()])
        self._add_tags(rows.tolist(), portion.properties)
        self._check()

    def _check(self) -> None:
        count, limits = sum(self._counts), self._limits
        if count > limits.features:
            raise ImportFailed(
                f"the file has more than {limits.features:,} rows, the most that the plan allows "
                "in one dataset"
            )
        heaps = (self._point_tags, self._shape_tags, self._wkb, self._json)
        if sum(heap.length for heap in heaps) > limits.storage_bytes:
            raise ImportFailed(
                f"the dataset takes more than {limits.storage_bytes:,} bytes, the most that the "
                "plan allows in one dataset"
            )

    def _add_points(self, numbers: NDArray[np.int64], shapes: NDArray[np.object_]) -> None:
        positions = np.full((len(shapes), 2), NO_POSITION, np.int32)
        known = ~shapely.is_missing(shapes)
        if known.any():
            degrees = shapely.get_coordinates(shapes[known])
            positions[known] = np.rint(degrees * 1e7).astype(np.int32)
        self._positions.append(positions)
        self._ids[0].append(numbers)
        self._counts[0] += len(numbers)

    def _add_shapes(self, numbers: NDArray[np.int64], shapes: NDArray[np.object_]) -> None:
        if len(shapes):
            shapes = cut_antimeridian(shapes)
            boxes = np.tile(NO_BOX, (len(shapes), 1))
            boxes[:] = np.rint(shapely.bounds(shapes) * 1e7).astype(np.int32)
            self._boxes.append(boxes)
            is_area = np.isin(shapely.get_type_id(shapes), (3, 6))
            self._flags.append((is_area * AREA).astype(np.uint8))
            self._wkb.append(shapely.to_wkb(shapes).tolist())
            self._json.append(write_geometries(shapes))
        self._ids[1].append(numbers)
        self._counts[1] += len(numbers)

    def _add_tags(self, rows: list[int], properties: list[dict[str, Any]]) -> None:
        """Keep what filters compare: the text of each value."""
        by_key: dict[str, tuple[list[int], list[Any]]] = {}
        for row, tags in zip(rows, properties, strict=True):
            for key, value in tags.items():
                if value is None:
                    continue
                pair = by_key.get(key)
                if pair is None:
                    pair = by_key[key] = ([], [])
                pair[0].append(row)
                pair[1].append(value)
        for key, (some_rows, values) in by_key.items():
            for kind in set(map(type, values)):
                self._note_type(key, _KINDS.get(kind, "string"))
            self._schema[key]["count"] += len(some_rows)
            self._spool.add(key, some_rows, [_write_value(value) for value in values])

    def _note_type(self, key: str, kind: str) -> None:
        entry = self._schema.get(key)
        if entry is None:
            if len(self._schema) >= MAX_COLUMNS:
                raise ImportFailed(
                    f"the rows have more than {MAX_COLUMNS:,} different properties; leave out "
                    "those that nobody asks for"
                )
            if len(key) > MAX_NAME:
                raise ImportFailed(
                    f"the property '{key[:40]}…' has a name of {len(key)} characters, at most "
                    f"{MAX_NAME} are read"
                )
            self._schema[key] = {"type": kind, "count": 0}
        elif entry["type"] != kind:
            numeric = {entry["type"], kind} == {"integer", "number"}
            entry["type"] = "number" if numeric else "mixed"

    def close(self) -> None:
        """Close all files, of a dataset that is not finished."""
        for heap in (self._point_tags, self._shape_tags, self._wkb, self._json):
            heap.abandon()
        self._spool.close()

    def finish(self) -> Written:
        """Write the other columns; return what the dataset holds."""
        folder, (points, shapes) = self._folder, self._counts
        if points + shapes == 0:
            raise ImportFailed("the file has no rows")
        self._point_tags.close(self._shape_tags)
        self._wkb.close()
        self._json.close()
        ids = np.concatenate([*self._ids[0], *self._ids[1]])
        write_frames(folder, "ids", ids)
        write_column(folder, "listed", np.argsort(ids, kind="stable").astype(np.uint32))
        write_column(folder, "tag_rows", np.arange(points + shapes, dtype=np.uint32))
        positions = np.concatenate(self._positions)
        write_column(folder, "lon", positions[:, 0])
        write_column(folder, "lat", positions[:, 1])
        boxes = np.concatenate([np.empty((0, 4), np.int32), *self._boxes])
        write_column(folder, "box", boxes)
        write_column(
            folder, "relation_flags", np.concatenate([np.empty(0, np.uint8), *self._flags])
        )
        geometry_rows = np.arange(points, points + shapes, dtype=np.uint32)
        write_column(folder, "geometry_rows", geometry_rows)
        self._write_empty()
        self._write_postings()
        counts = [points, 0, shapes]
        write_feature_rtree(folder, counts)
        write_stray_rtree(folder, counts)
        bbox = self._write_info(positions, boxes)
        shutil.rmtree(self._work)
        size = sum(file.stat().st_size for file in folder.iterdir())
        return Written(points + shapes, size, self._schema, bbox)

    def _write_empty(self) -> None:
        """Write the columns of what only the map has: ways, members, metadata."""
        folder = self._folder
        zero, shapes = np.zeros(1, np.int64), self._counts[1]
        for name, values in (
            ("way_flags", np.empty(0, np.uint8)), ("way_refs", np.empty(0, np.uint32)),
            ("way_offsets", zero), ("missing_node_ids", np.empty(0, np.int64)),
            ("member_offsets", np.zeros(shapes + 1, np.uint32)),
            ("missing_member_eids", np.empty(0, np.int64)),
            ("member_rows", np.empty(0, np.uint32)), ("member_roles", np.empty(0, np.uint8)),
            ("member_of_rows", np.empty(0, np.uint32)),
            ("member_of_relations", np.empty(0, np.uint32)),
            ("member_of_places", np.empty(0, np.uint8)), ("user_ids", np.empty(0, np.int64)),
        ):  # fmt: skip
            write_column(folder, name, values)
        write_frames(folder, "node_way_offsets", np.zeros(self._counts[0] + 1, np.int64))
        write_frames(folder, "node_ways", np.empty(0, np.int64))
        write_heap(folder, "role_text", [])
        write_heap(folder, "user_text", [])

    def _write_postings(self) -> None:
        folder, points = self._folder, self._counts[0]
        keys = sorted(self._spool.keys, key=str.encode)
        key_kv, key_offsets, kv_counts = [0], [0], [np.empty(0, np.int64)]
        values = _HeapWriter(folder, "value_text")
        key_values = KeyValuesWriter(folder)
        with (
            ColumnWriter(folder, "kv_rows", np.uint32) as kv_rows,
            ColumnWriter(folder, "key_rows", np.uint32) as key_rows,
        ):
            for key in keys:
                found = sort_key(self._spool, key, self._work)
                rows = found.rows.astype(np.int64)
                rows = np.where(rows >= _SHAPE, rows - _SHAPE + points, rows).astype(np.uint64)
                count = 0
                for part in found.values:
                    values.append(part)
                    count += len(part)
                codes = found.codes.astype(np.uint64)
                order = np.argsort((codes << np.uint64(32)) | rows)
                kv_rows.append(rows[order])
                kv_counts.append(np.bincount(found.codes, minlength=count))
                order = np.argsort(rows)
                key_rows.append(rows[order])
                key_values.begin(count - 1)
                key_values.extend(found.codes[order])
                key_values.end()
                key_kv.append(key_kv[-1] + count)
                key_offsets.append(key_offsets[-1] + len(rows))
        values.close()
        key_values.close()
        write_heap(folder, "key_text", [key.encode() for key in keys])
        write_column(folder, "key_kv", np.array(key_kv, np.int64))
        write_offsets(folder, "key_offsets", np.diff(key_offsets))
        write_offsets(folder, "kv_offsets", np.concatenate(kv_counts))
        self._spool.close()

    def _write_info(
        self, positions: NDArray[np.int32], boxes: NDArray[np.int32]
    ) -> list[float] | None:
        placed = positions[positions[:, 1] != NO_POSITION]
        corners = np.concatenate([np.tile(placed, 2), boxes])
        bbox = None
        if len(corners):
            low, high = corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)
            bbox = [*(low / 1e7).tolist(), *(high / 1e7).tolist()]
        info: dict[str, Any] = {
            "nodes": self._counts[0], "ways": 0, "relations": self._counts[1],
            "listed": sum(self._counts), "is_own": True, "has_metadata": False,
            "has_users": False, "newest_timestamp": 0, "bbox": bbox, "missing_nodes": 0,
            "nodes_without_position": len(positions) - len(placed), "loose_items": 0,
            "problems": {},
        }  # fmt: skip
        (self._folder / "store.json").write_text(json.dumps(info, indent=1))
        return bbox


def _write_value(value: Any) -> bytes:
    """Return the text by which filters know a value that is none itself."""
    if isinstance(value, str):
        return value.encode() if len(value) <= MAX_VALUE else value[:MAX_VALUE].encode()
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int | float):
        return repr(value).removesuffix(".0").encode()  # 4.0 is asked for as 4
    return orjson.dumps(value, default=str).decode()[:MAX_VALUE].encode()
