"""Lines and instructions as KML 2.2, for Google Earth and its like."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.trip import Route

KML = "application/vnd.google-earth.kml+xml"


def write_kml_route(route: Route, heights_m: NDArray[np.float64] | None = None) -> bytes:
    """Return a route as KML: a folder of instructions, and the line."""
    positions = route.positions.tolist()
    placemarks = [
        f"<Placemark><name>{escape(step.instruction)}</name>"
        f"<Point><coordinates>{positions[step.begin][0]},{positions[step.begin][1]}</coordinates>"
        "</Point></Placemark>"
        for leg in route.legs
        for step in leg.steps
    ]
    folder = ["<Folder><name>Steps</name>", *placemarks, "</Folder>"] if placemarks else []
    return _write([*folder, _write_line("Route", route.positions, heights_m)])


def write_kml_lines(lines: Iterable[NDArray[np.float64]]) -> bytes:
    """Return lines (n, 2) as KML."""
    return _write([_write_line("Track", line, None) for line in lines])


def _write_line(
    name: str, positions: NDArray[np.float64], heights_m: NDArray[np.float64] | None
) -> str:
    # One missing height would put a hole of the depth of the mountain into the line.
    mode = "<tessellate>1</tessellate>"
    if heights_m is not None and not np.isnan(heights_m).any():
        positions = np.column_stack([positions, heights_m])
        mode = "<altitudeMode>absolute</altitudeMode>"
    coordinates = " ".join(",".join(map(str, row)) for row in positions.tolist())
    return (
        f"<Placemark><name>{name}</name><LineString>{mode}"
        f"<coordinates>{coordinates}</coordinates></LineString></Placemark>"
    )


def _write(placemarks: list[str]) -> bytes:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<kml xmlns="http://www.opengis.net/kml/2.2"><Document>',
        "<description>© OpenStreetMap contributors, ODbL 1.0</description>",
        *placemarks,
        "</Document></kml>",
        "",
    ]
    return "\n".join(lines).encode()
