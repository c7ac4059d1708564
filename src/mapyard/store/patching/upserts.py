"""New and changed elements of an update, gathered from blocks into flat arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, WAY
from mapyard.osm.pbf import Block
from mapyard.store.derive import NO_POSITION
from mapyard.store.dictionary import TagCollector

Ints = NDArray[np.int64]
META = ("version", "timestamp", "changeset", "user")
Users = dict[tuple[int, bytes], int]


class Upserts(NamedTuple):
    """Elements sorted by type and id; runs of refs, members and tags with their lengths.

    `tag_items` are indexes of elements over all types, `tag_kvs` index `texts` (key NUL value).
    """

    ids: list[Ints]  # by type
    meta: dict[str, Ints]
    lon: NDArray[np.int32]
    lat: NDArray[np.int32]
    refs: Ints  # node ids
    ref_lengths: Ints
    member_eids: Ints
    member_roles: list[bytes]
    member_lengths: Ints
    tag_items: NDArray[np.uint32]
    tag_kvs: NDArray[np.uint32]
    texts: list[bytes]
    has_metadata: bool


def collect_upserts(blocks: Iterable[Block], users: Users) -> Upserts:
    """Gather blocks that are sorted by type and id; new users are added to `users`."""
    tags = TagCollector()
    parts: dict[str, list[Any]] = {}
    ids: list[list[Ints]] = [[np.empty(0, np.int64)] for _ in range(3)]
    roles: list[bytes] = []
    count = 0
    has_metadata = False

    def add(name: str, values: Any) -> None:
        parts.setdefault(name, []).append(values)

    for block in blocks:
        ids[block.type].append(block.ids)
        tags.add(count, block.tag_offsets, block.tag_keys, block.tag_values, block.strings)
        count += len(block.ids)
        has_metadata |= _add_metadata(block, users, add)
        if block.type == NODE:
            assert block.lon is not None and block.lat is not None
            off = np.abs(block.lat.astype(np.int64)) > 900_000_000
            off |= np.abs(block.lon.astype(np.int64)) > 1_800_000_000
            add("lon", np.where(off, NO_POSITION, block.lon))
            add("lat", np.where(off, NO_POSITION, block.lat))
            continue
        assert block.offsets is not None and block.refs is not None
        if block.type == WAY:
            add("refs", block.refs)
            add("ref_lengths", np.diff(block.offsets))
        else:
            assert block.member_types is not None and block.member_roles is not None
            add("member_eids", block.refs * 4 + block.member_types)
            add("member_lengths", np.diff(block.offsets))
            roles += [block.strings[i] for i in block.member_roles.tolist()]

    def joined(name: str, dtype: Any = np.int64) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *parts.get(name, [])]).astype(dtype)

    tag_items, tag_kvs, texts = tags.take()
    return Upserts(
        [np.concatenate(part) for part in ids],
        {name: joined(name) for name in META},
        joined("lon", np.int32),
        joined("lat", np.int32),
        joined("refs"),
        joined("ref_lengths"),
        joined("member_eids"),
        roles,
        joined("member_lengths"),
        tag_items,
        tag_kvs,
        texts,
        has_metadata,
    )


def _add_metadata(block: Block, users: Users, add: Any) -> bool:
    count = len(block.ids)
    if block.version is None or block.timestamp is None:
        for name in META:
            add(name, np.zeros(count, np.int64))
        return False
    assert block.changeset is not None and block.uid is not None and block.user is not None
    add("version", block.version)
    add("timestamp", block.timestamp)
    add("changeset", np.maximum(block.changeset, 0))
    pairs = zip(np.maximum(block.uid, 0).tolist(), block.user.tolist(), strict=True)
    numbers = [users.setdefault((uid, block.strings[user]), len(users)) for uid, user in pairs]
    add("user", np.array(numbers, np.int64))
    return bool(block.version.any() or block.timestamp.any())
