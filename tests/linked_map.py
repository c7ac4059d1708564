"""A map for fleets out of extracts: all of them, and copies of the first one, linked by roads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import osmium
from osmium.osm import NODE, RELATION, WAY, mutable

#: Ids of copies are so far apart.
ID_STEP = 20_000_000_000
#: Degrees of longitude between the last of one and the first of the next.
GAP_DEG = 0.06
MAJOR = ("primary", "secondary", "tertiary")
JOINT_NODES = 10


def write_linked_map(extracts: Sequence[Path], target: Path, copies: int) -> Path:
    """Write all extracts, and as many copies of the first one, each east of the one before."""
    first = extracts[0]
    merged = osmium.MergeInputReader()
    for path in extracts:
        merged.add_file(str(path))
    base = target.with_name(f"{target.name}.base.osm.pbf")
    with osmium.SimpleWriter(str(base), overwrite=True) as writer:
        merged.apply(writer, simplify=True)
    nodes = {
        item.id: (item.location.lon, item.location.lat)
        for item in osmium.FileProcessor(str(first), NODE)
    }
    lons = np.array([lon for lon, _ in nodes.values()])
    step_deg = float(np.ptp(lons)) + GAP_DEG
    major = {
        node.ref
        for way in osmium.FileProcessor(str(first), WAY)
        if way.tags.get("highway") in MAJOR
        for node in way.nodes
        if node.ref in nodes
    }
    west, east = (choose(major, key=lambda ref: nodes[ref][0]) for choose in (min, max))
    joints = (copies + 1) * ID_STEP
    with osmium.SimpleWriter(str(target), overwrite=True) as writer:
        for kind in (NODE, WAY, RELATION):
            for item in osmium.FileProcessor(str(base), kind):
                writer.add(item)
            for copy in range(1, copies + 1):
                for item in osmium.FileProcessor(str(first), kind):
                    writer.add(_copy(item, copy * ID_STEP, copy * step_deg))
            for number in range(copies if kind in (NODE, WAY) else 0):
                ids = [joints + number * 100 + i for i in range(JOINT_NODES)]
                if kind == WAY:
                    refs = [east + number * ID_STEP, *ids, west + (number + 1) * ID_STEP]
                    tags = {"highway": "primary", "name": f"Link {number + 1}"}
                    writer.add_way(mutable.Way(id=ids[0], nodes=refs, tags=tags))
                    continue
                start, end = np.array(nodes[east]), np.array(nodes[west])
                end[0] += step_deg
                for i, share in enumerate(np.linspace(0, 1, JOINT_NODES + 2)[1:-1].tolist()):
                    lon, lat = (start * (1 - share) + end * share).tolist()
                    at = (lon + number * step_deg, lat)
                    writer.add_node(mutable.Node(id=ids[i], location=at))
    base.unlink()
    return target


def _copy(item: Any, ids: int, east_deg: float) -> Any:
    """Return an element with other ids, farther east."""
    new_id = item.id + ids
    if item.is_node():
        at = (item.location.lon + east_deg, item.location.lat)
        return item.replace(id=new_id, location=at)
    if item.is_way():
        return item.replace(id=new_id, nodes=[node.ref + ids for node in item.nodes])
    members = [(m.type, m.ref + ids, m.role) for m in item.members]
    return item.replace(id=new_id, members=members)
