"""Make src/mapyard/tiles/data/world.json.xz out of npm's world-atlas (Natural Earth).

npm pack world-atlas && tar xzf world-atlas-*.tgz
python scripts/make_world.py package/land-110m.json

The land of the world for low zooms, as one GeoJSON MultiPolygon in hundredths of a degree.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import shapely

TARGET = Path(__file__).parents[1] / "src" / "mapyard" / "tiles" / "data" / "world.json.xz"


def main() -> None:
    """Read the TopoJSON file that the arguments name, and write ours."""
    topology = json.loads(Path(sys.argv[1]).read_text())
    arcs = [_decode(arc, topology["transform"]) for arc in topology["arcs"]]
    polygons = []
    for geometry in topology["objects"]["land"]["geometries"]:
        parts = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
        for part in parts:
            polygons += _cut([_join(ring, arcs) for ring in part])
    feature = {
        "type": "Feature",
        "properties": {},
        "geometry": {"type": "MultiPolygon", "coordinates": polygons},
    }
    TARGET.parent.mkdir(exist_ok=True)
    packed = lzma.compress(json.dumps(feature, separators=(",", ":")).encode(), preset=9)
    TARGET.write_bytes(packed)
    print(f"{len(polygons)} polygons, {len(packed):,} bytes")


def _decode(arc: list[list[int]], transform: dict[str, list[float]]) -> list[list[float]]:
    """Return the positions of an arc: its steps are differences on a grid."""
    (scale_x, scale_y), (x0, y0) = transform["scale"], transform["translate"]
    x = y = 0
    points = []
    for dx, dy in arc:
        x, y = x + dx, y + dy
        points.append([round(x * scale_x + x0, 2), round(y * scale_y + y0, 2)])
    return points


def _join(ring: list[int], arcs: list[list[list[float]]]) -> list[Any]:
    """Return a ring of arcs; a negative number is an arc backwards."""
    points: list[Any] = []
    for index in ring:
        arc = arcs[index] if index >= 0 else arcs[~index][::-1]
        points += arc[1:] if points else arc
    return points


def _cut(rings: list[list[list[float]]]) -> list[Any]:
    """Return a polygon as polygons that end at the antimeridian; one around a pole reaches it."""
    made = []
    for ring in rings:
        xy = np.array(ring)
        xy[:, 0] = np.unwrap(xy[:, 0], period=360)
        if abs(xy[-1, 0] - xy[0, 0]) > 180:
            pole = np.sign(xy[0, 1]) * 90
            xy = np.vstack([xy, [xy[-1, 0], pole], [xy[0, 0], pole], xy[:1]])
        made.append(shapely.make_valid(shapely.Polygon(xy)))
    holes = [
        shapely.transform(hole, lambda xy, turn=turn: xy - np.array([-turn, 0]))
        for hole in made[1:]
        for turn in (-360, 0, 360)  # the outer ring may have been unwrapped by a turn
    ]
    whole = shapely.difference(made[0], shapely.union_all(holes))
    parts: list[Any] = []
    for turn in (-360, 0, 360):
        inside = shapely.intersection(whole, shapely.box(turn - 180, -90, turn + 180, 90))
        for piece in shapely.get_parts(inside):
            if piece.geom_type == "Polygon" and piece.area > 0:
                moved = shapely.transform(piece, lambda xy, turn=turn: xy - [turn, 0])
                rounded = shapely.set_precision(moved, 0.01)
                parts += [
                    shapely.geometry.mapping(part)["coordinates"]
                    for part in shapely.get_parts(rounded)
                ]
    return parts


if __name__ == "__main__":
    main()
