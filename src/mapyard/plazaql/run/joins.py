"""What belongs together in the map: members of relations, nodes of ways, and what holds them."""

from __future__ import annotations

import numpy as np

from mapyard.plazaql.run.values import Ints
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store


def find_members(store: Store, rows: Ints, role: str | None) -> Ints:
    """Return the sorted rows of members of relations and, without a role, of nodes of ways."""
    relations = rows[rows >= store.relation_start]
    members = store.members(relations)
    known = members.row >= 0
    if role is not None:
        number = store.roles.index(role) if role in store.roles else -1
        known &= members.role == number
    parts = [members.row[known].astype(np.int64)]
    ways = rows[(rows >= store.way_start) & (rows < store.relation_start)]
    if role is None and len(ways):
        nodes = store.way_nodes(ways).values.astype(np.int64)
        parts.append(nodes[nodes < store.node_count])
    return distinct(*parts)


def find_holders(store: Store, rows: Ints, role: str | None) -> Ints:
    """Return the sorted rows of relations that hold rows, and of ways that have the nodes."""
    _, relations, roles = store.relations_of(np.sort(rows))
    if role is not None:
        number = store.roles.index(role) if role in store.roles else -1
        relations = relations[roles == number]
    parts = [np.asarray(relations, np.int64)]
    nodes = rows[rows < store.way_start]
    if role is None and len(nodes):
        parts.append(store.ways_of_nodes(nodes).values.astype(np.int64))
    return distinct(*parts)
