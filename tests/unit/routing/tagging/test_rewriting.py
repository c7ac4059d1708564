"""The pass over a whole file."""

from __future__ import annotations

from pathlib import Path

import osmium
from osmium.osm.mutable import Node, Relation, Way

from mapyard.routing.tagging.pieces import make_piece_id, name_ways
from mapyard.routing.tagging.rewriting import rewrite
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
