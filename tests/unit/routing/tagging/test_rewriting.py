"""The pass over a whole file."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import osmium
from osmium.osm.mutable import Node, Relation, Way

from mapyard.routing.tagging.lines import find_lines
from mapyard.routing.tagging.pieces import make_piece_id, name_ways
from mapyard.routing.tagging.rewriting import rewrite
from mapyard.routing.tagging.rings import name_positions, read_nodes
from osm_files import EXAMPLES


def read_ids(path: Path) -> list[tuple[str, int]]:
    return [(obj.type_str(), obj.id) for obj in osmium.FileProcessor(path)]


def test_ids_and_order_stay_and_only_roads_are_left(tmp_path: Path) -> None:
    changed = tmp_path / "roads.osm.pbf"
    monaco = EXAMPLES / "monaco.osm.pbf"
    rewrite(monaco, changed)
    before, after = read_ids(monaco), read_ids(changed)
    assert [one for one in after if one[0] == "n"] == [one for one in before if one[0] == "n"]
    ways = [one for one in after if one[0] == "w"]
    assert ways == sorted(ways)
    # Pieces of ways beside gates with hours, and under low bars, come last.
    pieces = [one for one in ways if one not in set(before)]
    assert ways[-len(pieces) :] == pieces
    assert {(kind, way_id % 2**40) for kind, way_id in ways} < set(before)
    roads = {
        obj.id for obj in osmium.FileProcessor(monaco, osmium.osm.WAY) if "highway" in obj.tags
    }
    assert roads <= {identifier % 2**40 for _, identifier in ways}


def test_a_turn_names_the_piece_of_its_way(tmp_path: Path) -> None:
    """A way is cut beside a gate with hours; a turn there is one from the piece."""
    with osmium.SimpleWriter(str(tmp_path / "map.osm.pbf")) as writer:
        for at in range(1, 6):
            tags = {"barrier": "gate", "opening_hours": "08:00-20:00"} if at == 3 else {}
            writer.add_node(Node(id=at, location=(at / 1000, 50.0), tags=tags, version=1))
        road = {"highway": "residential"}
        writer.add_way(Way(id=7, nodes=[1, 2, 3, 4], tags=road, version=1))
        writer.add_way(Way(id=8, nodes=[4, 5], tags=road, version=1))
        members = [("w", 7, "from"), ("n", 4, "via"), ("w", 8, "to")]
        tags = {"type": "restriction", "restriction": "no_straight_on"}
        writer.add_relation(Relation(id=9, members=members, tags=tags, version=1))
    rewrite(tmp_path / "map.osm.pbf", tmp_path / "roads.osm.pbf")
    ways: dict[int, list[int]] = {}
    turned: list[tuple[str, int, str]] = []
    for obj in osmium.FileProcessor(tmp_path / "roads.osm.pbf"):
        if obj.is_way():
            ways[obj.id] = [node.ref for node in obj.nodes]
        elif obj.is_relation():
            turned += [(one.type, one.ref, one.role) for one in obj.members]
    piece = make_piece_id(7, 1)
    assert ways == {7: [1, 2], 8: [4, 5], piece: [2, 3, 4]}
    assert turned == [("w", piece, "from"), *members[1:]]
    edges = {"edges": [{"way_id": piece}, {"way_id": 8}, {}]}
    assert name_ways("trace_attributes", edges) == {"edges": [{"way_id": 7}, {"way_id": 8}, {}]}
    rows = [{"edges": [{"edge_info": {"way_id": piece}}, {"way_id": piece}]}, {"edges": None}]
    assert name_ways("locate", rows)[0] == {"edges": [{"edge_info": {"way_id": 7}}, {"way_id": 7}]}


@contextmanager
def limited(more_bytes: int) -> Iterator[None]:
    """Let this process take so much more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_ids_that_are_far_apart_take_no_memory(tmp_path: Path) -> None:
    """Squares of nodes over all ids that there are: a bit for each would be 1.5 GB."""
    path = tmp_path / "map.osm.pbf"
    ids = [number * 40_000_000 + 1 for number in range(300)]
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    with osmium.SimpleWriter(str(path), header=header) as writer:
        for at, node_id in enumerate(ids):
            x, y = at // 4 * 0.01, 47.0
            corner = [(x, y), (x + 0.001, y), (x + 0.001, y + 0.001), (x, y + 0.001)][at % 4]
            writer.add_node(Node(id=node_id, location=corner))
        square = {"highway": "pedestrian", "area": "yes"}
        for at in range(0, len(ids), 4):
            ring = [*ids[at : at + 4], ids[at]]
            writer.add_way(Way(id=at + 1, nodes=ring, tags=square))
            writer.add_way(Way(id=at + 2, nodes=ring[:2], tags={"highway": "service"}))
    with limited(700_000_000):
        lines = find_lines(path, tmp_path)
    asked = np.array([7, ids[5], ids[299]])
    found = read_nodes(path, asked)
    assert name_positions(asked, found.lon, found.lat) == {
        ids[5]: (0.011, 47.0), ids[299]: (0.74, 47.001),
    }  # fmt: skip
    assert not len(lines)  # both entrances lie on the rim
