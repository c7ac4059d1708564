"""Write a feature store from a sorted source.osm.pbf, block by block.

Blocks stream through. What must be sorted is sorted in runs on disk where it would take more memory
than there is; what comes out is the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import MapyardError
from mapyard.osm.elements import NODE, WAY
from mapyard.osm.pbf import Block, iter_blocks
from mapyard.store.columns import (
    ColumnWriter,
    open_column,
    write_column,
    write_heap,
)
from mapyard.store.derive import (
    NO_POSITION,
    UNLIMITED,
    pack_columns,
    write_feature_rtree,
    write_info,
    write_listed,
    write_members,
    write_node_ways,
    write_stray_rtree,
)
from mapyard.store.dictionary import write_tags
from mapyard.store.heaps import OffsetsWriter
from mapyard.store.shapes import write_shapes
from mapyard.store.tag_places import write_tag_places
from mapyard.store.tag_spool import TagSpool

Ints = NDArray[np.int64]
MAX_ROWS = (1 << 32) - 1
#: Called with the number of elements read so far.
Progress = Callable[[int], None]


class NotSorted(Exception):  # noqa: N818 - a signal: the source must be sorted first
    """Elements are not sorted by type and id, or occur twice."""


@dataclass(slots=True)
class _Writers:
    folder: Path
    open: dict[str, ColumnWriter] = field(default_factory=dict)

    def append(self, name: str, values: NDArray[Any], dtype: Any) -> None:
        if name not in self.open:
            self.open[name] = ColumnWriter(self.folder, name, dtype)
        self.open[name].append(values)

    def close(self) -> None:
        for writer in self.open.values():
            writer.close()


class _Loader:
    """The state of one pass over the source."""

    def __init__(self, folder: Path, work: Path, memory_bytes: int) -> None:
        self.folder, self.work, self.memory_bytes = folder, work, memory_bytes
        self.columns = _Writers(folder)
        self.tags = TagSpool(work, memory_bytes)
        self.way_offsets = OffsetsWriter(folder, "way_offsets")
        self.member_offsets = OffsetsWriter(folder, "member_offsets")
        self.members = ColumnWriter(work, "member_eids", np.int64)
        self.member_roles = ColumnWriter(work, "member_roles", np.uint32)
        self.counts = [0, 0, 0]
        self.last = (-1, -(2**62))
        self.node_ids: Ints | None = None
        self.unplaced: set[int] = set()
        self.missing: dict[int, int] = {}
        self.roles: dict[bytes, int] = {}
        self.users: dict[tuple[int, bytes], int] = {(0, b""): 0}
        self.has_metadata = self.has_users = False

    def add(self, block: Block) -> None:
        if not len(block.ids):
            return
        if (block.type, int(block.ids[0])) <= self.last or (np.diff(block.ids) <= 0).any():
            raise NotSorted
        if block.visible is not None and not block.visible.all():
            raise NotSorted
        self.last = (block.type, int(block.ids[-1]))
        first_row = sum(self.counts)
        if first_row + len(block.ids) > MAX_ROWS:
            raise MapyardError(f"more than {MAX_ROWS:,} elements: build smaller extracts")
        self.counts[block.type] += len(block.ids)
        self.tags.add(first_row, block.tag_offsets, block.tag_keys, block.tag_values, block.strings)
        self.columns.append("ids", block.ids, np.int64)
        self._add_metadata(block)
        if block.type == NODE:
            self._add_positions(block)
        elif block.type == WAY:
            self._add_refs(block)
        else:
            self._add_members(block)

    def _add_metadata(self, block: Block) -> None:
        count = len(block.ids)
        if block.version is None:
            for name in ("version", "timestamp", "changeset", "user"):
                self.columns.append(name, np.zeros(count, np.uint32), np.uint32)
            return
        assert block.timestamp is not None and block.changeset is not None
        assert block.uid is not None and block.user is not None
        self.has_metadata |= bool(block.version.any() or block.timestamp.any())
        self.columns.append("version", block.version, np.uint32)
        self.columns.append("timestamp", block.timestamp, np.uint32)
        self.columns.append("changeset", np.maximum(block.changeset, 0), np.uint32)
        pairs, inverse = np.unique(
            (np.maximum(block.uid, 0) << 32) | block.user, return_inverse=True
        )
        numbers = []
        for pair in pairs.tolist():
            user = (pair >> 32, block.strings[pair & 0xFFFFFFFF])
            self.has_users |= bool(user[1])
            numbers.append(self.users.setdefault(user, len(self.users)))
        self.columns.append("user", np.array(numbers, np.uint32)[inverse], np.uint32)

    def _add_positions(self, block: Block) -> None:
        assert block.lon is not None and block.lat is not None
        lon, lat = block.lon, block.lat
        off = (np.abs(lat.astype(np.int64)) > 900_000_000) | (
            np.abs(lon.astype(np.int64)) > 1_800_000_000
        )
        if off.any():
            self.unplaced.update(block.ids[off].tolist())
            lon, lat = np.where(off, NO_POSITION, lon), np.where(off, NO_POSITION, lat)
        self.columns.append("lon", lon, np.int32)
        self.columns.append("lat", lat, np.int32)

    def _ids_of_nodes(self) -> Ints:
        if self.node_ids is None:
            self.columns.open["ids"]._file.flush()
            path = self.folder / "ids.npy"
            offset = path.stat().st_size - 8 * self.columns.open["ids"].length
            count = self.counts[NODE]
            self.node_ids = (
                np.asarray(np.memmap(path, np.int64, "r", offset, (count,)))
                if count
                else np.empty(0, np.int64)
            )
        return self.node_ids

    def _add_refs(self, block: Block) -> None:
        assert block.refs is not None and block.offsets is not None
        node_ids = self._ids_of_nodes()
        unique, inverse = np.unique(block.refs, return_inverse=True)
        place = np.searchsorted(node_ids, unique)
        clipped = np.minimum(place, max(0, len(node_ids) - 1))
        found = node_ids[clipped] == unique if len(node_ids) else np.zeros(len(unique), np.bool_)
        if self.unplaced:
            found &= ~np.isin(unique, np.fromiter(self.unplaced, np.int64, len(self.unplaced)))
        for index in np.flatnonzero(~found).tolist():
            number = self.missing.setdefault(int(unique[index]), len(self.missing))
            place[index] = len(node_ids) + number
        self.columns.append("way_refs", place[inverse], np.uint32)
        self.way_offsets.append(np.diff(block.offsets))

    def _add_members(self, block: Block) -> None:
        assert block.refs is not None and block.offsets is not None
        assert block.member_types is not None and block.member_roles is not None
        used, inverse = np.unique(block.member_roles, return_inverse=True)
        roles = self.roles
        numbers = [roles.setdefault(block.strings[i], len(roles)) for i in used.tolist()]
        role = np.array(numbers, np.uint32)[inverse] if len(used) else np.empty(0, np.uint32)
        self.member_offsets.append(np.diff(block.offsets))
        self.members.append(block.refs * 4 + block.member_types)
        self.member_roles.append(role)

    def close(self) -> None:
        """Close the columns that are filled while reading."""
        for name, dtype in (("lon", np.int32), ("lat", np.int32), ("way_refs", np.uint32)):
            self.columns.append(name, np.empty(0, dtype), dtype)
        self.node_ids = None
        self.columns.close()
        for writer in (self.way_offsets, self.member_offsets, self.members, self.member_roles):
            writer.close()

    def abandon(self) -> None:
        """Close all files as they are, of a store that is not finished."""
        for writer in (*self.columns.open.values(), self.members, self.member_roles):
            writer.abandon()
        self.tags.abandon()
        self.way_offsets.abandon()
        self.member_offsets.abandon()


def write_store(
    folder: Path,
    source: Path,
    progress: Progress | None = None,
    stage: Callable[[str], None] | None = None,
    memory_bytes: int = UNLIMITED,
    jobs: int = 1,
) -> dict[str, Any]:
    """Write the store of a sorted source.osm.pbf into an empty folder; return its store.json.

    Raises NotSorted when the source is not sorted by type and id without doubles. `memory_bytes` is
    what tables and sorts may take, `jobs` how many processes shape ways and relations; the store is
    the same for any.
    """
    say = stage or (lambda _: None)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="work-", dir=folder) as work:
        loader = _Loader(folder, Path(work), memory_bytes)
        try:
            return _write_store(loader, source, progress, say, jobs)
        finally:
            loader.abandon()


def _write_store(
    loader: _Loader,
    source: Path,
    progress: Progress | None,
    say: Callable[[str], None],
    jobs: int,
) -> dict[str, Any]:
    folder, counts, memory_bytes = loader.folder, loader.counts, loader.memory_bytes
    say("reading elements")
    for block in iter_blocks(source):
        loader.add(block)
        if progress:
            progress(sum(counts))
    if not sum(counts):
        raise MapyardError("the extract holds no elements", status=422, code="unreadable_file")
    loader.close()
    say("tags")
    write_tags(folder, loader.tags, counts, memory_bytes)
    say("relations of elements")
    _write_topology(loader)
    say("geometry")
    problems = write_shapes(folder, counts, jobs)
    say("spatial index")
    write_listed(folder, counts)
    write_feature_rtree(folder, counts, memory_bytes)
    write_stray_rtree(folder, counts, memory_bytes)
    write_tag_places(folder, memory_bytes)
    say("packing")
    pack_columns(folder)
    info = write_info(
        folder,
        counts,
        has_metadata=loader.has_metadata,
        has_users=loader.has_users,
        problems=problems,
    )
    return {**info, "problem_ids": problems}


def _write_topology(loader: _Loader) -> None:
    folder, counts = loader.folder, loader.counts
    missing = np.fromiter(loader.missing, np.int64, len(loader.missing))
    write_column(folder, "missing_node_ids", missing)
    write_node_ways(folder, counts, loader.memory_bytes)
    eids, roles = (open_column(loader.work, name) for name in ("member_eids", "member_roles"))
    write_members(folder, counts, eids, roles, len(loader.roles), loader.memory_bytes)
    write_heap(folder, "role_text", list(loader.roles))
    write_column(folder, "user_ids", np.array([uid for uid, _ in loader.users], np.int64))
    write_heap(folder, "user_text", [n.decode(errors="replace").encode() for _, n in loader.users])
