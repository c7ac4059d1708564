"""The one seam to the feature store: keys, boxes and row arrays in, arrays out.

A row is the small integer of one element; rows are sorted by (type, id), so nodes, ways and
relations are three ranges of rows (see ARCHITECTURE.md). Row arrays are uint32 or int64 and, unless
said otherwise, sorted ascending without doubles. Coordinates are int32 in 1e-7 degree. Nothing here
changes the store; a `Store` may be used by several threads.
"""

from __future__ import annotations

import ctypes
import math
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.native import address
from mapyard.store.arrays import E7, EMPTY_ROWS, Ints, Members, Meta, Ragged, Rows
from mapyard.store.distinct import distinct
from mapyard.store.geometry import GeometryColumns
from mapyard.store.kernels import Map, load_kernels, place
from mapyard.store.rtree import Rtree
from mapyard.store.tag_places import TagPlaces
from mapyard.store.tags import TagColumns

__all__ = [
    "E7",
    "EMPTY_ROWS",
    "Ints",
    "Members",
    "Meta",
    "Ragged",
    "Rows",
    "Store",
    "open_store",
    "to_units",
]

#: Room for nodes of each element found, at first.
_NODES_OF_ROW: Final = 12


class Store(TagColumns, GeometryColumns):
    """A dataset's elements, opened from its folder `elements/`.

    Its parts are one module each: elements.py (rows, ids, metadata), tags.py, topology.py (nodes of
    ways, members) and geometry.py; here is the search by place.
    """

    @cached_property
    def feature_rtree(self) -> Rtree:
        """R-tree over listed rows that have a geometry."""
        return Rtree(self._folder, "feature_rtree")

    @cached_property
    def _places_of_tags(self) -> TagPlaces:
        return TagPlaces(self._folder, self.feature_rtree)

    @cached_property
    def _stray_rtree(self) -> Rtree:
        """R-tree over nodes that are neither tagged nor part of a way."""
        return Rtree(self._folder, "stray_rtree")

    def search_box(self, bbox: Bbox) -> NDArray[np.uint32]:
        """Return the sorted listed rows whose box meets a bbox in degrees (candidates only)."""
        return self.begin_search(bbox).rows()

    def begin_search(self, bbox: Bbox) -> BoxSearch:
        """Return a begun `search_box`: it knows an estimate, and its rows when asked for them."""
        return BoxSearch(self.feature_rtree, bbox)

    def search_tag(self, kv: int, bbox: Bbox, most: int) -> NDArray[np.uint32] | None:
        """Return the sorted rows with a frequent tag whose box meets a bbox in degrees.

        None where they are not found so: the tag is not frequent, or there are more than `most`.
        """
        rows = self.rows_with_kv(kv)
        found = [np.empty(0, np.uint32)]
        for box in bbox.split():
            part = self._places_of_tags.find(kv, rows, to_units(box), most)
            if part is None:
                return None
            found.append(part)
        return distinct(*found)

    def estimate_box(self, bbox: Bbox) -> int:
        """Return about how many rows `search_box` would find, rather too many; in microseconds."""
        return self.begin_search(bbox).estimate

    def search_nodes(self, bbox: Bbox) -> NDArray[np.uint32]:
        """Return the sorted rows of all nodes in a bbox in degrees, exactly, edges included."""
        parts = [self.find_nodes(*to_units(box)) for box in bbox.split()]
        return parts[0] if len(parts) == 1 else distinct(*parts)

    def find_nodes(self, x0: int, y0: int, x1: int, y1: int) -> NDArray[np.uint32]:
        """Return the sorted rows of all nodes in a box in 1e-7 degree, exactly.

        Nearly every node is tagged or part of a way that the feature R-tree knows.
        """
        rows = self.feature_rtree.search(x0, y0, x1, y1)
        box = np.array([x0, y0, x1, y1], np.int64)
        asked = ctypes.addressof(self._map), place(rows), len(rows), place(box)
        kernels = load_kernels()
        nodes = np.empty(_NODES_OF_ROW * len(rows), np.uint32)
        count = kernels.find_nodes(*asked, place(nodes), len(nodes))
        if count > len(nodes):
            nodes = np.empty(count, np.uint32)
            kernels.find_nodes(*asked, place(nodes), count)
        if count < 0:
            raise IndexError("the nodes of a way are damaged")
        nodes = nodes[:count]
        if len(self._stray_rtree.rows):
            nodes = np.concatenate([nodes, self._stray_rtree.search(x0, y0, x1, y1)])
        nodes.sort()
        return nodes[: kernels.drop_repeats(place(nodes), len(nodes))]

    @cached_property
    def _map(self) -> Map:
        return Map(
            address(self.lon, np.int32, self.node_count),
            address(self.lat, np.int32, self.node_count),
            address(self._box, np.int32, 4 * (self.way_count + self.relation_count)),
            self._ways,
            self.node_count,
        )


def to_units(box: Bbox) -> tuple[int, int, int, int]:
    """Return the stored coordinates that lie in a box in degrees: x0, y0, x1, y1."""
    return (
        math.ceil(round(box.west * E7, 3)),
        math.ceil(round(box.south * E7, 3)),
        math.floor(round(box.east * E7, 3)),
        math.floor(round(box.north * E7, 3)),
    )


class BoxSearch:
    """Search with a bbox in degrees; two boxes at the antimeridian."""

    __slots__ = ("_parts",)

    def __init__(self, tree: Rtree, bbox: Bbox) -> None:
        self._parts = [tree.begin(*to_units(box)) for box in bbox.split()]

    @property
    def estimate(self) -> int:
        """About how many rows will be found, rather too many."""
        return sum(part.estimate for part in self._parts)

    def rows(self) -> NDArray[np.uint32]:
        """Return the sorted rows whose box meets the bbox."""
        if len(self._parts) == 1:
            rows = self._parts[0].rows()
            rows.sort()
            return rows
        return distinct(np.concatenate([part.rows() for part in self._parts]))


def open_store(folder: Path) -> Store:
    """Open the folder `elements/` of a dataset; some milliseconds, as columns are mapped."""
    return Store(folder)
