"""Lines over parks lead over nothing that stands, flows or grows there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import osmium
import pytest
import shapely

from mapyard.routing.tagging.lines import find_lines
from osm_files import TEST_DATA

#: Told here once more, not read from the code.
_IN_THE_WAY = (
    ("building", None),
    ("natural", ("water", "wood", "scrub")),
    ("leisure", ("pitch", "playground", "swimming_pool")),
    ("barrier", ("wall", "fence", "hedge")),
)
_MAPS = ("monaco-2025-11-08", "leeds-cut", "baltimore-cut")


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
def test_no_line_over_a_park_leads_over_what_stands_there(name: str) -> None:
    path = TEST_DATA / f"{name}.osm.pbf"
    lines = [
        line
        for found in find_lines(path).values()
        for line in found
        if line.tags.get("surface") == "grass"
    ]
    ends = {node for line in lines for node in line.ends}
    places = {
        node.id: (node.location.lon, node.location.lat)
        for node in osmium.FileProcessor(path, osmium.osm.NODE)
        if node.id in ends
    }
    drawn = shapely.linestrings([[places[end] for end in line.ends] for line in lines])
    assert len(lines) > 5
    tree = shapely.STRtree(read_in_the_way(path))
    pairs = tree.query(drawn, predicate="intersects")
    # A line may touch the corner that it leads around.
    inside = shapely.intersection(drawn[pairs[0]], tree.geometries[pairs[1]])
    assert shapely.length(inside).max(initial=0.0) < 1e-6  # degrees: 0.1 m
    assert all(np.hypot(*np.subtract(*(places[end] for end in line.ends))) > 0 for line in lines)
