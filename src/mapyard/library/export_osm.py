"""Elements as an OSM extract: with everything that they refer to, out of the store's columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import osmium
import osmium.io
import osmium.osm.mutable as mutable
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.osm.elements import NODE, WAY
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7, Store
from mapyard.version import __version__

Rows = NDArray[Any]
_BATCH: Final = 20_000
_KINDS: Final = "nwr"


def write_extract(
    store: Store, rows: Rows, target: Path, tell: Callable[[int], None], deadline: Deadline
) -> None:
    """Write elements by their rows, sorted by type and id; nodes and members come along.

    Members that the dataset lacks are referred to, as in any clipped extract.
    """
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    header.set("generator", f"mapyard {__version__}")
    whole = find_referred(store, rows)
    done = 0
    with osmium.SimpleWriter(str(target), header=header, overwrite=True) as writer:
        for start in range(0, len(whole), _BATCH):
            deadline.check()
            batch = whole[start : start + _BATCH]
            for element in _make_elements(store, np.asarray(batch, np.int64)):
                writer.add(element)
            done += len(batch)
            tell(done)


def find_referred(store: Store, rows: Rows) -> Rows:
    """Return rows with those of all members and nodes, sorted: nodes, ways, relations."""
    found = distinct(np.asarray(rows, np.uint32))
    while True:
        relations = found[found >= store.relation_start]
        members = store.members(relations).row
        grown = distinct(found, members[members >= 0].astype(np.uint32))
        if len(grown) == len(found):
            break
        found = grown
    ways = found[(found >= store.way_start) & (found < store.relation_start)]
    parts = [found]
    for start in range(0, len(ways), _BATCH):
        refs, _ = store.way_nodes(ways[start : start + _BATCH])
        parts.append(distinct(refs[refs < store.node_count].astype(np.uint32)))
    return distinct(*parts)


def _make_elements(store: Store, rows: NDArray[np.int64]) -> Iterator[Any]:
    ids, kinds = store.ids[rows].tolist(), store.types(rows)
    tags = [orjson.loads(text) for text in store.tags_json(rows)]
    common = _list_meta(store, rows)
    own = [_nodes(store, rows[kinds == NODE]), _ways(store, rows[kinds == WAY]),
           _relations(store, rows[kinds > WAY])]  # fmt: skip
    makers = (mutable.Node, mutable.Way, mutable.Relation)
    for index, kind in enumerate(kinds.tolist()):
        yield makers[kind](id=ids[index], tags=tags[index], **next(own[kind]), **common[index])


def _list_meta(store: Store, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    meta = store.meta(rows)
    if meta is None:
        return [{}] * len(rows)
    user_ids, user_names = store.users
    return [
        {
            "version": version,
            "timestamp": datetime.fromtimestamp(seconds, UTC),
            "changeset": changeset,
            "uid": int(user_ids[user]),
            "user": user_names[user],
        }
        for version, seconds, changeset, user in zip(
            meta.version.tolist(), meta.timestamp.tolist(), meta.changeset.tolist(),
            meta.user.tolist(), strict=True,
        )
    ]  # fmt: skip


def _nodes(store: Store, rows: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    for lon, lat in zip((store.lon[rows] / E7).tolist(), (store.lat[rows] / E7).tolist(),
                        strict=True):  # fmt: skip
        yield {"location": (lon, lat)} if abs(lat) <= 90 and abs(lon) <= 180 else {}


def _ways(store: Store, rows: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    refs, offsets = store.way_nodes(rows)
    ids = store.node_ids(refs).tolist()
    edges = offsets.tolist()
    for start, stop in itertools.pairwise(edges):
        yield {"nodes": ids[start:stop]}


def _relations(store: Store, rows: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    members = store.members(rows)
    roles = store.roles
    eids, role = members.eid.tolist(), members.role.tolist()
    edges = np.searchsorted(members.relation, np.arange(len(rows) + 1)).tolist()
    for start, stop in itertools.pairwise(edges):
        yield {
            "members": [
                (_KINDS[eids[i] & 3], eids[i] >> 2, roles[role[i]]) for i in range(start, stop)
            ]
        }
