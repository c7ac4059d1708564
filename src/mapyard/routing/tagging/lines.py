"""Lines to walk along over areas: squares from place to place, parks where the ways are long."""

from __future__ import annotations

from pathlib import Path

from mapyard.routing.tagging.areas import (
    AREA_KEYS,
    Line,
    find_square_lines,
    is_walked_area,
    read_areas,
    read_positions,
)
from mapyard.routing.tagging.parks import find_park_lines, is_park


def find_lines(pbf: Path) -> dict[int, list[Line]]:
    """Return the lines over all areas of a file, by the id of the way that they belong to."""
    areas = read_areas(
        pbf, (*AREA_KEYS, "leisure"), lambda tags: is_walked_area(tags) or is_park(tags)
    )
    if not areas:
        return {}
    rims = {node for area in areas for ring in (*area.outers, *area.holes) for node in ring}
    positions = read_positions(pbf, rims)
    squares = [area for area in areas if is_walked_area(area.tags)]
    lines = find_square_lines(pbf, squares, positions)
    parks = [area for area in areas if not is_walked_area(area.tags)]
    for way_id, found in find_park_lines(pbf, parks, positions, lines).items():
        lines.setdefault(way_id, []).extend(found)
    return lines
