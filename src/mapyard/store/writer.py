"""Write a feature store from a sorted source.osm.pbf, block by block.

Blocks stream through; what stays in memory until the end is eight bytes a tag, the distinct tags,
and what sorting needs (see `estimate_bytes`).
"""

from __future__ import annotations

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
    write_offsets,
)
from mapyard.store.derive import (
    NO_POSITION,
    pack_columns,
    write_feature_rtree,
    write_info,
    write_listed,
    write_members,
    write_node_ways,
    write_stray_rtree,
)
from mapyard.store.dictionary import TagCollector, write_tags
from mapyard.store.shapes import write_shapes

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

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns = _Writers(folder)
        self.tags = TagCollector()
        self.counts = [0, 0, 0]
        self.last = (-1, -(2**62))
        self.node_ids: Ints | None = None
        self.unplaced: set[int] = set()
        self.missing: dict[int, int] = {}
        self.roles: dict[bytes, int] = {}
        self.users: dict[tuple[int, bytes], int] = {(0, b""): 0}
        self.has_metadata = self.has_users = False
        self.members: list[tuple[Ints, Ints, NDArray[np.uint32]]] = []

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
        self.columns.append("way_lengths", np.diff(block.offsets), np.int64)

    def _add_members(self, block: Block) -> None:
        assert block.refs is not None and block.offsets is not None
        assert block.member_types is not None and block.member_roles is not None
        used, inverse = np.unique(block.member_roles, return_inverse=True)
        roles = self.roles
        numbers = [roles.setdefault(block.strings[i], len(roles)) for i in used.tolist()]
        role = np.array(numbers, np.uint32)[inverse] if len(used) else np.empty(0, np.uint32)
        self.members.append((np.diff(block.offsets), block.refs * 4 + block.member_types, role))


def write_store(
    folder: Path,
    source: Path,
    progress: Progress | None = None,
    stage: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Write the store of a sorted source.osm.pbf into an empty folder; return its store.json.

    Raises NotSorted when the source is not sorted by type and id without doubles.
    """
    say = stage or (lambda _: None)
    folder.mkdir(parents=True, exist_ok=True)
    loader = _Loader(folder)
    say("reading elements")
    for block in iter_blocks(source):
        loader.add(block)
        if progress:
            progress(sum(loader.counts))
    if not sum(loader.counts):
        raise MapyardError("the extract holds no elements", status=422, code="unreadable_file")
    for name, dtype in (("lon", np.int32), ("lat", np.int32), ("way_refs", np.uint32)):
        loader.columns.append(name, np.empty(0, dtype), dtype)
    loader.columns.append("way_lengths", np.empty(0, np.int64), np.int64)
    loader.node_ids = None
    loader.columns.close()
    say("tags")
    bits = _write_tags(loader)
    say("relations of elements")
    _write_topology(loader)
    say("geometry")
    problems = write_shapes(folder, loader.counts, bits)
    say("spatial index")
    listed = write_listed(folder, loader.counts)
    write_feature_rtree(folder, loader.counts, listed)
    write_stray_rtree(folder, loader.counts)
    info = write_info(
        folder,
        loader.counts,
        has_metadata=loader.has_metadata,
        has_users=loader.has_users,
        problems=problems,
    )
    pack_columns(folder)
    return {**info, "problem_ids": problems}


def _write_tags(loader: _Loader) -> NDArray[np.uint8]:
    """Write tags; return the area bits of every way."""
    rows, kvs, texts = loader.tags.take()
    kv_bits = write_tags(loader.folder, rows, kvs, texts)
    start, count = loader.counts[NODE], loader.counts[WAY]
    bits = np.zeros(count, np.uint8)
    of_ways = (rows >= start) & (rows < start + count)
    way, tag_bits = rows[of_ways].astype(np.int64) - start, kv_bits[kvs[of_ways]]
    for bit in (1, 2):
        bits[way[(tag_bits & bit) > 0]] |= bit
    return bits


def _write_topology(loader: _Loader) -> None:
    folder, counts = loader.folder, loader.counts
    write_offsets(folder, "way_offsets", open_column(folder, "way_lengths"))
    (folder / "way_lengths.npy").unlink()
    missing = np.fromiter(loader.missing, np.int64, len(loader.missing))
    write_column(folder, "missing_node_ids", missing)
    write_node_ways(folder, counts)

    none = np.empty(0, np.int64)
    eids = np.concatenate([none, *(part[1] for part in loader.members)])
    roles = np.concatenate([none, *(part[2] for part in loader.members)])
    lengths = np.concatenate([none, *(part[0] for part in loader.members)])
    write_members(folder, counts, lengths, eids, roles)
    write_heap(folder, "role_text", list(loader.roles))

    write_column(folder, "user_ids", np.array([uid for uid, _ in loader.users], np.int64))
    write_heap(folder, "user_text", [n.decode(errors="replace").encode() for _, n in loader.users])
