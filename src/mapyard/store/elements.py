"""Which elements a store has: their rows, ids, types and metadata."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import MapyardError
from mapyard.osm.elements import NODE, RELATION, TYPE_NAMES, WAY
from mapyard.store.arrays import Ints, Meta, Rows
from mapyard.store.columns import Heap, open_column
from mapyard.store.frames import Frames


class ElementColumns:
    """Rows, ids, types and metadata, from the folder `elements/`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if (folder / "ids.npy").exists():
            raise MapyardError(
                f"{folder} is of an earlier Mapyard and cannot be read: build or import it again"
            )
        self.info: dict[str, Any] = json.loads((folder / "store.json").read_text())
        #: Whether the rows are somebody's own and no elements of OpenStreetMap.
        self.is_own = bool(self.info.get("is_own"))
        self.node_count: int = self.info["nodes"]
        self.way_count: int = self.info["ways"]
        self.relation_count: int = self.info["relations"]
        self.way_start = self.node_count
        self.relation_start = self.node_count + self.way_count
        self.row_count = self.relation_start + self.relation_count
        #: OSM id of every row, int64; `ids.item(row)` is the fastest for one row.
        self.ids = Frames(folder, "ids")
        self._ranges = [self.type_range(kind) for kind in (NODE, WAY, RELATION)]
        #: Listed rows (ways, relations, tagged nodes) in the order of their eids.
        self.listed: NDArray[np.uint32] = self._column("listed")

    def _column(self, name: str) -> NDArray[Any]:
        return open_column(self._folder, name)

    def type_range(self, element_type: int) -> tuple[int, int]:
        """Return the range [start, stop) of rows of a type (NODE, WAY, RELATION)."""
        if element_type == NODE:
            return 0, self.way_start
        if element_type == WAY:
            return self.way_start, self.relation_start
        return self.relation_start, self.row_count

    def types(self, rows: Rows) -> NDArray[np.int64]:
        """Return the element type of each row."""
        rows = np.asarray(rows)
        return (rows >= self.way_start).astype(np.int64) + (rows >= self.relation_start)

    def eids(self, rows: Rows) -> Ints:
        """Return the eid (osm_id * 4 + type) of each row."""
        return self.ids.take(np.asarray(rows)) * 4 + self.types(rows)

    def eid_of(self, row: int) -> int:
        """Return the eid of one row."""
        return self.ids.item(row) * 4 + (row >= self.way_start) + (row >= self.relation_start)

    def find_rows(self, element_type: int, ids: NDArray[Any] | list[int]) -> Ints:
        """Return the row of each OSM id of one type, −1 where it is not in the extract."""
        start, stop = self.type_range(element_type)
        return self.ids.locate(np.asarray(ids, np.int64), start, stop)

    def find_row(self, element_type: int, osm_id: int) -> int:
        """Return the row of one element, or −1."""
        start, stop = self._ranges[element_type]
        return self.ids.index(osm_id, start, stop)

    def find_eid_rows(self, eids: NDArray[Any] | list[int]) -> Ints:
        """Return the row of each eid, −1 where absent; order kept."""
        eids = np.asarray(eids, np.int64)
        types, ids = eids & 3, eids >> 2
        rows = np.full(len(eids), -1, np.int64)
        for element_type in (NODE, WAY, RELATION):
            mask = types == element_type
            if mask.any():
                rows[mask] = self.find_rows(element_type, ids[mask])
        return rows

    def sort_by_eid(self, rows: Rows) -> Rows:
        """Return the rows in the order of their eids, the order of feature lists."""
        return rows[np.argsort(self.eids(rows), kind="stable")]

    def name_of(self, row: int) -> str:
        """Return the public id of a row, such as "node/123"."""
        kind = (row >= self.way_start) + (row >= self.relation_start)
        return f"{TYPE_NAMES[kind]}/{self.ids.item(row)}"

    @cached_property
    def _meta(self) -> list[Frames]:
        return [Frames(self._folder, name) for name in Meta._fields]

    @property
    def has_metadata(self) -> bool:
        """Whether the extract has versions and timestamps."""
        return bool(self.info["has_metadata"])

    @property
    def has_users(self) -> bool:
        """Whether the extract has user names."""
        return bool(self.info["has_users"])

    def meta(self, rows: Rows) -> Meta | None:
        """Return version, timestamp, changeset and user index of each row, or None."""
        if not self.has_metadata:
            return None
        rows = np.asarray(rows)
        return Meta(*(column.take(rows).astype(np.uint32) for column in self._meta))

    @cached_property
    def users(self) -> tuple[Ints, list[str]]:
        """User ids and names by user index; index 0 is "unknown" (id 0, name "")."""
        heap = Heap(self._folder, "user_text")
        return self._column("user_ids"), [name.decode() for name in heap.span(0, len(heap))]
