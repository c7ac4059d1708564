"""Which changes apply: newer ones only, and, for a source that covers more, those of the area."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.pbf import Block
from mapyard.store.columns import offsets_of, ranges
from mapyard.updates.changes import Changes

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Known(Protocol):
    """What is known of elements before: a store, or as much of one as the changes are about."""

    def find_rows(self, element_type: int, ids: Ints) -> Ints:
        """Return the row of each element, -1 for those that are not there."""
        ...

    def meta(self, rows: Ints) -> Any:
        """Return the `version` of rows, or None."""
        ...


def select_newer(store: Known, changes: Changes) -> Changes:
    """Leave out what the store has in a newer version: a diff applied twice changes nothing.

    Elements without versions always apply.
    """
    blocks = []
    for block in changes.blocks:
        if block.version is None:
            blocks.append(block)
            continue
        known = _versions(store, block.type, block.ids)
        blocks.append(take(block, (block.version == 0) | (block.version >= known)))
    deleted, versions = [], []
    for element_type, (ids, ours) in enumerate(
        zip(changes.deleted, changes.deleted_versions, strict=True)
    ):
        known = _versions(store, element_type, ids)
        applies = (ours == 0) | (ours >= known)
        deleted.append(ids[applies])
        versions.append(ours[applies])
    return Changes([b for b in blocks if len(b.ids)], deleted, versions)


def _versions(store: Known, element_type: int, ids: Ints) -> Ints:
    """Return the version of each element in the store, 0 for none."""
    rows = store.find_rows(element_type, ids)
    versions = np.zeros(len(ids), np.int64)
    meta = store.meta(rows[rows >= 0])
    if meta is not None:
        versions[rows >= 0] = meta.version
    return versions


def clip(store: Known, changes: Changes, bbox: Bbox) -> Changes:
    """Keep changes of known elements, nodes in the box, and what is built of kept elements."""
    nodes = [b for b in changes.blocks if b.type == NODE]
    ways = [b for b in changes.blocks if b.type == WAY]
    relations = [b for b in changes.blocks if b.type == RELATION]
    inside = [_in_box(block, bbox) | _is_known(store, NODE, block.ids) for block in nodes]
    new_ids = {
        NODE: _ids(nodes, inside),
        WAY: np.empty(0, np.int64),
        RELATION: np.empty(0, np.int64),
    }
    way_masks = []
    for block in ways:
        assert block.refs is not None
        has = _is_known(store, NODE, block.refs) | np.isin(block.refs, new_ids[NODE])
        way_masks.append(_any_of(block, has) | _is_known(store, WAY, block.ids))
    new_ids[WAY] = _ids(ways, way_masks)
    # Nodes outside the box that kept ways need stay with them.
    needed = [np.empty(0, np.int64)]
    for block, mask in zip(ways, way_masks, strict=True):
        kept = take(block, mask)
        assert kept.refs is not None
        needed.append(kept.refs)
    inside = [
        mask | np.isin(block.ids, np.concatenate(needed))
        for block, mask in zip(nodes, inside, strict=True)
    ]
    relation_masks = []
    for block in relations:
        assert block.refs is not None and block.member_types is not None
        has = np.zeros(len(block.refs), np.bool_)
        for element_type in (NODE, WAY, RELATION):
            own = block.member_types == element_type
            refs = block.refs[own]
            has[own] = _is_known(store, element_type, refs) | np.isin(refs, new_ids[element_type])
        relation_masks.append(_any_of(block, has) | _is_known(store, RELATION, block.ids))
    blocks = [
        take(block, mask)
        for block, mask in zip(
            [*nodes, *ways, *relations], [*inside, *way_masks, *relation_masks], strict=True
        )
    ]
    return Changes([b for b in blocks if len(b.ids)], changes.deleted, changes.deleted_versions)


def _in_box(block: Block, bbox: Bbox) -> Mask:
    assert block.lon is not None and block.lat is not None
    lon, lat = block.lon / 1e7, block.lat / 1e7
    inside = np.zeros(len(lon), np.bool_)
    for part in bbox.split():
        inside |= (lon >= part.west) & (lon <= part.east)
    return inside & (lat >= bbox.south) & (lat <= bbox.north)


def _is_known(store: Known, element_type: int, ids: Ints) -> Mask:
    return store.find_rows(element_type, ids) >= 0


def _ids(blocks: list[Block], masks: list[Mask]) -> Ints:
    parts = [block.ids[mask] for block, mask in zip(blocks, masks, strict=True)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _any_of(block: Block, has: Mask) -> Mask:
    """Return which elements of a block have any reference with the mask set."""
    assert block.offsets is not None
    sums = np.concatenate([[0], np.cumsum(has)])
    return sums[block.offsets[1:]] > sums[block.offsets[:-1]]


def take(block: Block, mask: Mask) -> Block:
    """Return a block with some of its elements only."""
    if mask.all():
        return block
    index = np.flatnonzero(mask)

    def some(values: Any) -> Any:
        return None if values is None else values[index]

    tag_lengths = np.diff(block.tag_offsets)[index]
    tags = ranges(block.tag_offsets[index], tag_lengths)
    result = replace(
        block,
        ids=block.ids[index],
        tag_offsets=offsets_of(tag_lengths),
        tag_keys=block.tag_keys[tags],
        tag_values=block.tag_values[tags],
        **{
            name: some(getattr(block, name))
            for name in (
                "version", "timestamp", "changeset", "uid", "user", "visible", "lon", "lat",
            )
        },
    )  # fmt: skip
    if block.offsets is not None and block.refs is not None:
        lengths = np.diff(block.offsets)[index]
        runs = ranges(block.offsets[index], lengths)
        result.offsets = offsets_of(lengths)
        result.refs = block.refs[runs]
        if block.member_types is not None and block.member_roles is not None:
            result.member_types = block.member_types[runs]
            result.member_roles = block.member_roles[runs]
    return result
