"""Comparison of two feature stores, column by column, whatever their history."""

from __future__ import annotations

import numpy as np

from mapyard.store.columns import Heap
from mapyard.store.frames import Frames
from mapyard.store.reader import Store
from mapyard.store.row_map import GONE
from mapyard.store.rtree import Rtree

_FRAMES = ("ids", "version", "timestamp", "changeset", "node_way_offsets", "node_ways")
EXACT = (
    *(f"{name}_{part}" for name in _FRAMES for part in ("base", "place", "offset")),
    "lon", "lat", "tag_rows", "tag_offsets", "tag_kvs", "key_text_bytes", "key_text_offsets",
    "value_text_bytes", "value_text_offsets", "key_kv", "kv_offsets", "kv_rows", "key_offsets",
    "key_rows", "key_value_bytes", "key_value_places", "way_offsets", "member_offsets",
    "member_rows", "missing_member_eids", "member_of_rows", "member_of_relations",
    "member_of_places", "box", "way_flags", "relation_flags", "geometry_rows", "geometry_bytes",
    "geometry_offsets", "relation_json_bytes", "relation_json_offsets", "line_ways",
    "line_text_bytes", "line_text_offsets", "line_run_starts", "line_run_lengths",
    "line_run_offsets", "listed",
)  # fmt: skip


def find_differences(a: Store, b: Store) -> list[str]:
    """Return the names of what differs between two stores; empty when they hold the same."""
    different = [n for n in EXACT if not np.array_equal(a._column(n), b._column(n))]
    if different:
        return different
    ways = np.arange(*a.type_range(1))
    if not np.array_equal(
        a.node_ids(a.way_nodes(ways).values), b.node_ids(b.way_nodes(ways).values)
    ):
        different.append("way nodes")
    if _roles(a) != _roles(b):
        different.append("member roles")
    if _users(a) != _users(b):
        different.append("users")
    for name in ("feature_rtree", "stray_rtree"):
        if _items(a, name) != _items(b, name):
            different.append(name)
    loose = ("loose_items",)
    for key in a.info.keys() | b.info.keys():
        if key not in loose and a.info.get(key) != b.info.get(key):
            different.append(f"store.json {key}: {a.info.get(key)} {b.info.get(key)}")
    return different


def _roles(store: Store) -> list[str]:
    return [store.roles[i] for i in store._column("member_roles").tolist()]


def _users(store: Store) -> list[tuple[int, bytes]]:
    ids = store._column("user_ids")
    names = Heap(store._folder, "user_text")
    users = [(int(uid), names[i]) for i, uid in enumerate(ids.tolist())]
    return [users[i] for i in Frames(store._folder, "user")[:].tolist()]


def _items(store: Store, name: str) -> list[tuple[int, bytes]]:
    """Return the items of a tree; its levels are checked to hold them."""
    tree = Rtree(store._folder, name)
    everything = np.array([-(2**31), -(2**31), 2**31 - 1, 2**31 - 1])
    # Updates leave items in their places that are gone.
    live = tree.rows != GONE
    assert len(tree.search(*everything.tolist())) == live.sum()
    rows, boxes = tree.rows[live].tolist(), store._column(f"{name}_boxes")[live]
    return sorted((row, box.tobytes()) for row, box in zip(rows, boxes, strict=True))
