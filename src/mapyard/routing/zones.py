"""The time zones of the world, read out of the files of timezonefinder-data.

They are OpenStreetMap's by way of timezone-boundary-builder (ODbL). The package timezonefinder,
which reads them too, is compiled and has wheels for one platform only; its data have none of that.
Layout 3: a ring is cut into blocks of 128 vertices, each with a frame (its smallest x and y); a
vertex is a pair of bit-packed steps from there. A block ends with the first vertex of the next.
"""

from __future__ import annotations

import json
import struct
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import MapyardError

_LAYOUT: Final = 3
_BLOCK: Final = 128
_WORD_BITS: Final = 32
#: The frames are in 1e-7 degree, the steps in ten times that.
_STEP: Final = 10
_SCALE: Final = 1e7

type Array = NDArray[Any]


@lru_cache(maxsize=1)
def open_zones() -> Zones:
    """Return the zones of the installed data."""
    from timezonefinder_data import DATA_DIR

    return Zones(DATA_DIR)


class Zones:
    """The zones as polygons; few of them are decoded, when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.names = (folder / "timezone_names.txt").read_text().split()
        self._zone_of: Array = np.load(folder / "zone_ids.npy")
        self._outer = _Rings(folder / "boundaries")
        self._inner = _Rings(folder / "holes")
        #: A hole ≥ 0 is that outer ring, below it is the inner ring -(value + 1).
        self._hole_rings: Array = np.load(folder / "holes" / "poly_ref.npy")
        registry = json.loads((folder / "hole_registry.json").read_text())
        #: Boundary → number of holes and the first of them.
        self._holes = {int(boundary): tuple(entry) for boundary, entry in registry.items()}
        self._get_polygon = lru_cache(maxsize=16)(self._read_polygon)

    def find_touched(self, west: float, south: float, east: float, north: float) -> list[int]:
        """Return the boundaries whose boxes touch a box."""
        x0, y0, x1, y1 = (round(degrees * _SCALE) for degrees in (west, south, east, north))
        boxes = self._outer
        touched = (boxes.x0 <= x1) & (boxes.x1 >= x0) & (boxes.y0 <= y1) & (boxes.y1 >= y0)
        return [int(index) for index in np.flatnonzero(touched)]

    def name_of(self, boundary: int) -> str:
        """Return the name of the zone that a boundary belongs to."""
        return self.names[int(self._zone_of[boundary])]

    def get_area(self, name: str) -> shapely.MultiPolygon:
        """Return the area of a zone."""
        boundaries = np.flatnonzero(self._zone_of == self.names.index(name))
        return shapely.MultiPolygon([self._read_polygon(int(index)) for index in boundaries])

    def find(self, lon: float, lat: float) -> str | None:
        """Return the name of the zone of a position; where two claim it, the smaller one's."""
        here = shapely.Point(lon, lat)
        boxes = self._outer
        touched = self.find_touched(lon, lat, lon, lat)
        touched.sort(key=lambda i: int(boxes.x1[i] - boxes.x0[i]) * int(boxes.y1[i] - boxes.y0[i]))
        for boundary in touched:
            if shapely.covers(self._get_polygon(boundary), here):
                return self.name_of(boundary)
        return None

    def _read_polygon(self, boundary: int) -> shapely.Polygon:
        count, first = self._holes.get(boundary, (0, 0))
        holes = [
            self._outer.read(ref) if ref >= 0 else self._inner.read(-(ref + 1))
            for ref in self._hole_rings[first : first + count].tolist()
        ]
        return shapely.Polygon(self._outer.read(boundary), holes)


class _Rings:
    """A collection of rings: coordinates.bin (a FlatBuffer) and its tables."""

    def __init__(self, folder: Path) -> None:
        def load(name: str) -> Array:
            return np.load(folder / f"{name}.npy")

        self.x0, self.x1 = load("xmin").astype(np.int64), load("xmax").astype(np.int64)
        self.y0, self.y1 = load("ymin").astype(np.int64), load("ymax").astype(np.int64)
        self._path = folder / "coordinates.bin"
        self._counts = load("nr_vertices")
        self._first_blocks = load("block_offsets")
        self._frames = np.column_stack([load("block_bases"), load("block_ranges")[:, 0]])
        self._widths = load("block_widths").astype(np.int64)

    @cached_property
    def _words(self) -> Array:
        return np.memmap(self._path, "<u4", "r")

    @cached_property
    def _starts(self) -> Array:
        """The first word of each ring's payload, by a walk through the FlatBuffer's tables."""
        words, data = self._words, memoryview(np.memmap(self._path, "u1", "r"))
        root = struct.unpack_from("<I", data)[0]
        vtable = root - struct.unpack_from("<i", data, root)[0]
        size = struct.unpack_from("<H", data, vtable)[0]
        slots = struct.unpack_from(f"<{size // 2 - 2}H", data, vtable + 4)
        layout = data[root + slots[1]] if len(slots) > 1 and slots[1] else 0
        if bytes(data[4:8]) != b"TZFP" or layout != _LAYOUT:
            raise MapyardError(
                f"timezonefinder-data has its rings in layout {layout}, this Mapyard reads "
                f"{_LAYOUT}: pip install 'timezonefinder-data>=4,<5'"
            )
        vector = root + slots[0]
        vector += struct.unpack_from("<I", data, vector)[0]
        count = struct.unpack_from("<I", data, vector)[0]
        at = vector + 4 + 4 * np.arange(count, dtype=np.int64)
        tables = at + words[at // 4]
        vtables = tables - words[tables // 4].view("<i4")
        halves = np.memmap(self._path, "<u2", "r")
        references = tables + halves[vtables // 2 + 2]
        return np.asarray((references + words[references // 4]) // 4 + 1, np.int64)

    def read(self, ring: int) -> Array:
        """Return a ring's vertices, in degrees, as rows of lon and lat."""
        total = int(self._counts[ring])
        blocks = slice(int(self._first_blocks[ring]), int(self._first_blocks[ring + 1]))
        widths, frames = self._widths[blocks], self._frames[blocks]
        counts = np.full(len(widths), _BLOCK + 1)
        counts[-1] = total - (len(widths) - 1) * _BLOCK + 1
        # Each axis of each block begins with a word of its own: x and y of the first, then on.
        sizes = -(-counts[:, None] * widths // _WORD_BITS)
        begins = (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(sizes.shape)
        block = np.repeat(np.arange(len(widths)), counts - 1)
        inside = np.arange(total) - block * _BLOCK
        words = self._words[int(self._starts[ring]) :][: int(sizes.sum()) + 2].astype(np.uint64)
        vertices = np.empty((total, 2))
        for axis in (0, 1):
            width = widths[block, axis]
            bit = begins[block, axis] * _WORD_BITS + inside * width
            word = bit // _WORD_BITS
            pair = words[word] | (words[word + 1] << np.uint64(_WORD_BITS))
            steps = (pair >> (bit % _WORD_BITS).astype(np.uint64)).astype(np.int64)
            steps &= (np.int64(1) << width) - 1
            vertices[:, axis] = (frames[block, axis] + steps * _STEP) / _SCALE
        return vertices
