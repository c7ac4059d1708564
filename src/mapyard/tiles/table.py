"""The feature table of tiles: what all zooms need, made at build, mapped into memory.

Features lie in the order of a tile: by layer, then drawing order. Shapes are packed on the grid of
zoom 14, attribute values are encoded once; a tile is a gather of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import (
    ColumnWriter,
    Heap,
    join_heap,
    offsets_of,
    open_column,
    ranges,
    write_heap,
)
from mapyard.store.digests import Digests, digest_runs
from mapyard.store.distinct import distinct
from mapyard.store.heaps import OffsetsWriter
from mapyard.store.rtree import Items, Rtree, write_large_rtree
from mapyard.tiles.mercator import BUFFER, GRID_BITS, MAX_ZOOM
from mapyard.tiles.schema import LAYERS, Attribute
from mapyard.tiles.shapes import Shapes

Ints = NDArray[np.int64]

#: What sorting the index may take where nothing else is said, and boxes read at once.
_SORT_BYTES: Final = 64 << 20
_PORTION: Final = 1 << 18
#: Boxes in the order of features, until the index is there.
_BOXES: Final = "boxes_unsorted"

_COLUMNS = {
    "ids": np.uint64, "minzoom": np.uint8, "tag_attribute": np.uint16, "tag_value": np.uint32,
}  # fmt: skip
#: Where the vertices of each ring, the rings and the tags of each feature begin.
_OFFSETS = ("vertex_offsets", "ring_offsets", "tag_offsets")


class TableAttribute(msgspec.Struct, frozen=True):
    """One attribute of one layer."""

    layer: int
    name: str
    type: str
    minzoom: int


class TableInfo(msgspec.Struct):
    """What tiles.json and the reader need besides the columns."""

    schema: str
    bounds: tuple[float, float, float, float]  # west, south, east, north, degrees
    layer_offsets: list[int]
    attributes: list[TableAttribute]


def write_info(
    folder: Path,
    bounds: tuple[float, float, float, float],
    layer_counts: Ints,
    attributes: list[TableAttribute],
) -> None:
    """Write the description."""
    info = TableInfo("shortbread 1.1", bounds, offsets_of(layer_counts).tolist(), attributes)
    (folder / "tiles.json").write_bytes(msgspec.json.encode(info))


class TableWriter:
    """Appends features layer by layer, then closes with the index and the values.

    What grows with the map is written at once; the index is sorted in `memory_bytes`.
    """

    def __init__(self, folder: Path, memory_bytes: int = _SORT_BYTES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._memory_bytes = folder, memory_bytes
        self._columns = {
            name: ColumnWriter(folder, name, dtype) for name, dtype in _COLUMNS.items()
        }
        self._offsets = {name: OffsetsWriter(folder, name) for name in _OFFSETS}
        self._columns["xy"] = ColumnWriter(folder, "xy", np.int32, 2)
        self._columns[_BOXES] = ColumnWriter(folder, _BOXES, np.int32, 4)
        self._attributes: list[TableAttribute] = []
        self._layer_counts = [0] * len(LAYERS)
        self._layer = -1
        self._first_attribute = 0

    def begin_layer(self, layer: int, attributes: list[Attribute]) -> None:
        """Begin a layer; layers come in ascending order."""
        assert layer > self._layer
        self._layer = layer
        self._first_attribute = len(self._attributes)
        self._attributes += [TableAttribute(layer, a.name, a.type, a.minzoom) for a in attributes]

    def append(
        self, shapes: Shapes, ids: NDArray[Any], minzoom: NDArray[Any], columns: list[Ints]
    ) -> None:
        """Append features with one column of value indexes (−1: absent) per attribute."""
        self._layer_counts[self._layer] += len(shapes)
        put = self._columns
        put["ids"].append(ids)
        put["minzoom"].append(minzoom)
        self._offsets["ring_offsets"].append(np.diff(shapes.features))
        self._offsets["vertex_offsets"].append(np.diff(shapes.rings))
        put["xy"].append(shapes.xy)
        put[_BOXES].append(shapes.boxes())
        matrix = np.array(columns, np.int64).reshape(len(columns), len(shapes)).T
        present = matrix >= 0
        self._offsets["tag_offsets"].append(present.sum(axis=1))
        put["tag_attribute"].append(np.nonzero(present)[1] + self._first_attribute)
        put["tag_value"].append(matrix[present])

    def close(self, values: list[bytes], bounds: tuple[float, float, float, float]) -> None:
        """Write the index, the values and the description."""
        for column in self._columns.values():
            column.close()
        for offsets in self._offsets.values():
            offsets.close()
        self._write_index()
        self._write_values(values)
        counts = np.array(self._layer_counts, np.int64)
        write_info(self._folder, bounds, counts, self._attributes)

    def _write_values(self, values: list[bytes]) -> None:
        """Write the values in use in their order as bytes, so that no tile tells what else is."""
        is_used = np.zeros(len(values), np.bool_)
        column: NDArray[np.uint32] = np.empty(0, np.uint32)
        if self._columns["tag_value"].length:
            column = np.load(self._folder / "tag_value.npy", mmap_mode="r+")
        for start in range(0, len(column), _PORTION):
            is_used[column[start : start + _PORTION]] = True
        order = sorted(np.flatnonzero(is_used).tolist(), key=values.__getitem__)
        write_heap(self._folder, "value", [values[i] for i in order])
        place = np.zeros(len(values), np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        for start in range(0, len(column), _PORTION):
            part = column[start : start + _PORTION]
            part[:] = place[part]
        if isinstance(column, np.memmap):
            column.flush()

    def _write_index(self) -> None:
        boxes = open_column(self._folder, _BOXES)

        def portions() -> Iterator[NDArray[np.uint32]]:
            for start in range(0, len(boxes), _PORTION):
                yield np.arange(start, min(len(boxes), start + _PORTION), dtype=np.uint32)

        items = Items(portions, lambda rows: boxes[rows], 4)
        write_large_rtree(self._folder, "rtree", items, self._memory_bytes)
        (self._folder / f"{_BOXES}.npy").unlink()


class Table:
    """An opened feature table; safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self.info = msgspec.json.decode((folder / "tiles.json").read_bytes(), type=TableInfo)
        self.ids: NDArray[np.uint64] = open_column(folder, "ids")
        self.minzoom: NDArray[np.uint8] = open_column(folder, "minzoom")
        self.shapes = Shapes(
            open_column(folder, "xy"),
            open_column(folder, "vertex_offsets"),
            open_column(folder, "ring_offsets"),
        )
        self.tag_offsets = open_column(folder, "tag_offsets")
        self.tag_attribute = open_column(folder, "tag_attribute")
        self.tag_value = open_column(folder, "tag_value")
        self.rtree = Rtree(folder, "rtree")
        self._boxes = open_column(folder, "rtree_boxes")  # in the order of rtree.rows
        self.values = Heap(folder, "value")
        self.layer_offsets = np.array(self.info.layer_offsets, np.int64)
        self.attribute_names = [a.name for a in self.info.attributes]
        self._attribute_minzoom = np.array([a.minzoom for a in self.info.attributes], np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    def layers_of(self, features: Ints) -> Ints:
        """Return the layer of each feature."""
        return np.searchsorted(self.layer_offsets, features, side="right") - 1

    def find(self, box: tuple[int, int, int, int], zoom: int) -> Ints:
        """Return the features of a zoom whose box meets a box on the grid, in drawing order."""
        found = np.sort(self.rtree.search(*box)).astype(np.int64)
        return found[self.minzoom[found] <= zoom]

    def tiles(self, zoom: int, box: tuple[int, int, int, int] | None = None) -> Ints:
        """Return (n, 2) x, y of the tiles of a zoom that may hold something, sorted by x, y.

        `box` on the grid keeps to the tiles that meet it.
        """
        return find_tiles(self._boxes[self.minzoom[self.rtree.rows] <= zoom], zoom, box)

    def boxes(self, features: Ints) -> Ints:
        """Return the (n, 4) boxes of features."""
        return self.shapes.take(features).boxes()

    def digest(self, features: Ints) -> Digests:
        """Return a digest of each feature, of all that tiles take from it, in any table the same.

        Which attributes there are is not in it.
        """
        digests = self.ids[features] ^ self.layers_of(features).astype(np.uint64) << np.uint64(58)
        counts, attribute, value = self.tags(features)
        values, which = np.unique(value, return_inverse=True)
        texts, lengths = join_heap(self.values.take(values))
        of_values = np.zeros(len(values), np.uint64)
        digest_runs(of_values, texts, np.diff(lengths))
        shapes = self.shapes.take(features)
        digest_runs(digests, self.minzoom[features], np.ones(len(features), np.int64))
        digest_runs(digests, attribute, counts)
        digest_runs(digests, of_values[which], counts)
        digest_runs(digests, np.diff(shapes.rings), np.diff(shapes.features))
        digest_runs(digests, shapes.xy, np.diff(shapes.rings[shapes.features]))
        return digests

    def tags(self, features: Ints, zoom: int = MAX_ZOOM) -> tuple[Ints, Ints, Ints]:
        """Return pairs per feature, and attribute and value of all pairs, of a zoom."""
        starts = self.tag_offsets[features]
        counts = (self.tag_offsets[features + 1] - starts).astype(np.int64)
        place = ranges(starts, counts)
        attribute = self.tag_attribute[place].astype(np.int64)
        value = self.tag_value[place].astype(np.int64)
        shown = self._attribute_minzoom[attribute] <= zoom
        if not shown.all():
            owner = np.repeat(np.arange(len(features)), counts)[shown]
            counts = np.bincount(owner, minlength=len(features))
            attribute, value = attribute[shown], value[shown]
        return counts, attribute, value


def find_tiles(boxes: Ints, zoom: int, box: tuple[int, int, int, int] | None = None) -> Ints:
    """Return (n, 2) x, y of the tiles of a zoom that boxes on the grid meet, sorted by x, y."""
    shift = GRID_BITS - zoom
    margin = BUFFER << (MAX_ZOOM - zoom)
    last = (1 << zoom) - 1
    boxes = boxes.astype(np.int64)
    low = np.clip(boxes[:, :2] - margin >> shift, 0, last)
    high = np.clip(boxes[:, 2:] + margin >> shift, 0, last)
    spans = np.unique(np.column_stack([low, high]), axis=0)
    if box is not None:
        spans[:, :2] = np.maximum(spans[:, :2], [box[0] >> shift, box[1] >> shift])
        spans[:, 2:] = np.minimum(spans[:, 2:], [box[2] >> shift, box[3] >> shift])
        spans = spans[(spans[:, 2] >= spans[:, 0]) & (spans[:, 3] >= spans[:, 1])]
    keys = [np.empty(0, np.int64)]
    for start in range(0, len(spans), 10_000):
        x0, y0, x1, y1 = spans[start : start + 10_000].T
        columns = ranges(x0, x1 - x0 + 1)
        owner = np.repeat(np.arange(len(x0)), x1 - x0 + 1)
        heights = (y1 - y0 + 1)[owner]
        rows = ranges(y0[owner], heights)
        keys.append(distinct(np.repeat(columns, heights) << 32 | rows))
    every = distinct(*keys)
    return np.column_stack([every >> 32, every & 0xFFFFFFFF])
