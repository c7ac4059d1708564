"""Lines over parks lead over nothing that stands, flows or grows there."""

from __future__ import annotations

import heapq
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pytest
import shapely
from osmium.osm import mutable

from mapyard.routing.tagging import around, entrances, lines, parks
from mapyard.routing.tagging.lines import find_lines
from mapyard.store import spill
from osm_files import TEST_DATA

#: Told here once more, not read from the code.
_IN_THE_WAY = (
    ("building", None),
    ("natural", ("water", "wood", "scrub")),
    ("leisure", ("pitch", "playground", "swimming_pool")),
    ("barrier", ("wall", "fence", "hedge")),
)
_MAPS = ("monaco-2025-11-08", "leeds-cut", "baltimore-cut")


def make_folder(parent: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=parent))


def find_ends(path: Path, parent: Path) -> set[tuple[int, tuple[int, int]]]:
    return {(line.way_id, line.ends) for line in find_lines(path, make_folder(parent))}


def copy(obj: Any) -> Any:
    if isinstance(obj, osmium.osm.Node):
        place = (obj.location.lon, obj.location.lat)
        return mutable.Node(id=obj.id, location=place, tags=dict(obj.tags), version=1)
    if isinstance(obj, osmium.osm.Way):
        nodes = [node.ref for node in obj.nodes]
        return mutable.Way(id=obj.id, nodes=nodes, tags=dict(obj.tags), version=1)
    assert isinstance(obj, osmium.osm.Relation)
    members = [(one.type, one.ref, one.role) for one in obj.members]
    return mutable.Relation(id=obj.id, members=members, tags=dict(obj.tags), version=1)


def read_in_the_way(path: Path) -> list[shapely.Geometry]:
    """Return what stands in the way, by another reader: osmium's own areas, and lines."""
    found: list[shapely.Geometry] = []
    areas = osmium.FileProcessor(path).with_locations().with_areas()
    for one in areas:
        tags = dict(one.tags)
        if tags.get("tunnel", "no") != "no" or not any(
            key in tags and (values is None or tags[key] in values) and tags[key] != "no"
            for key, values in _IN_THE_WAY
        ):
            continue
        if isinstance(one, osmium.osm.Area):
            found.append(shapely.from_wkb(osmium.geom.WKBFactory().create_multipolygon(one)))
        elif isinstance(one, osmium.osm.Way) and "barrier" in tags and len(one.nodes) > 1:
            found.append(shapely.LineString([(n.location.lon, n.location.lat) for n in one.nodes]))
    return found


@pytest.mark.parametrize("name", _MAPS)
def test_no_line_over_a_park_leads_over_what_stands_there(name: str, tmp_path: Path) -> None:
    path = TEST_DATA / f"{name}.osm.pbf"
    found = [line for line in find_lines(path, tmp_path) if line.tags.get("surface") == "grass"]
    ends = {node for line in found for node in line.ends}
    places = {
        node.id: (node.location.lon, node.location.lat)
        for node in osmium.FileProcessor(path, osmium.osm.NODE)
        if node.id in ends
    }
    drawn = shapely.linestrings([[places[end] for end in line.ends] for line in found])
    assert len(found) > 5
    tree = shapely.STRtree(read_in_the_way(path))
    pairs = tree.query(drawn, predicate="intersects")
    # A line may touch the corner that it leads around.
    inside = shapely.intersection(drawn[pairs[0]], tree.geometries[pairs[1]])
    assert shapely.length(inside).max(initial=0.0) < 1e-6  # degrees: 0.1 m
    assert all(np.hypot(*np.subtract(*(places[end] for end in line.ends))) > 0 for line in found)


def test_what_else_is_in_a_file_changes_no_line(tmp_path: Path) -> None:
    """The doors of a large park are chosen in the order of ids, not of where things lie."""
    paths = [TEST_DATA / f"{name}.osm.pbf" for name in ("monaco-2025-11-08", "baltimore-cut")]
    alone = [find_ends(path, tmp_path) for path in paths]
    both = tmp_path / "both.osm.pbf"
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    with osmium.SimpleWriter(str(both), header=header) as writer:
        for kind in (osmium.osm.NODE, osmium.osm.WAY, osmium.osm.RELATION):
            for one in heapq.merge(
                *([copy(obj) for obj in osmium.FileProcessor(path, kind)] for path in paths),
                key=lambda obj: obj.id,
            ):
                writer.add(one)
    assert find_ends(both, tmp_path) == alone[0] | alone[1]


def test_arrays_in_files_and_small_portions_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = TEST_DATA / "monaco-2025-11-08.osm.pbf"
    whole = list(find_lines(path, make_folder(tmp_path)))
    for module, name, value in (
        (around, "_AT_ONCE", 100), (entrances, "_AT_ONCE", 50), (parks, "_MOST_LATEST", 3),
        (lines, "_AT_ONCE", 7), (spill, "LARGE_BYTES", 4096),
    ):  # fmt: skip
        assert hasattr(module, name)
        monkeypatch.setattr(module, name, value)
    with spill.spill_arrays(tmp_path, 1):
        parts = list(find_lines(path, make_folder(tmp_path)))
        assert spill.tell_spilled().spilled_bytes > 1_000_000
    assert len(whole) > 500
    assert parts == whole
