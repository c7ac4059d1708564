"""The pass over a whole file."""

from __future__ import annotations

from pathlib import Path

import osmium

from mapyard.routing.tagging import rewrite
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
    assert set(ways) < set(before)
    roads = {
        obj.id for obj in osmium.FileProcessor(monaco, osmium.osm.WAY) if "highway" in obj.tags
    }
    assert roads <= {identifier for _, identifier in ways}
