"""GPX 1.1: traces in, routes out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.routing.trip import Route

GPX: Final = "application/gpx+xml"
_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gpx version="1.1" creator="Mapyard" xmlns="http://www.topografix.com/GPX/1/1">',
    '<metadata><copyright author="OpenStreetMap contributors">'
    "<license>https://opendatacommons.org/licenses/odbl/</license></copyright></metadata>",
)


def read_gpx(text: str) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return positions (n, 2), lon and lat, and seconds per position, None unless all have a time.

    All tracks are read one after the other; routes and single waypoints only where there is no
    track. Raises `InvalidRequest`.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InvalidRequest.of("body", "GPX with a document type definition is not read")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - entities were refused above
    except ElementTree.ParseError as error:
        line, column = error.position
        raise InvalidRequest.of(
            "body", f"is not valid XML at line {line}, column {column + 1}"
        ) from None
    points: list[ElementTree.Element] = []
    for kind in ("trkpt", "rtept", "wpt"):
        points = [node for node in root.iter() if node.tag.rpartition("}")[2] == kind]
        if points:
            break
    if not points:
        raise InvalidRequest.of("body", "holds no GPX track")
    try:
        lonlat = np.array(
            [(float(node.attrib["lon"]), float(node.attrib["lat"])) for node in points]
        )
    except (KeyError, ValueError):
        raise InvalidRequest.of("body", "has a track point without lon and lat numbers") from None
    return lonlat, _read_times(points)


def _read_times(points: list[ElementTree.Element]) -> NDArray[np.float64] | None:
    times = []
    for node in points:
        child = next((child for child in node if child.tag.rpartition("}")[2] == "time"), None)
        if child is None or not child.text:
            return None
        try:
            times.append(datetime.fromisoformat(child.text.strip()).timestamp())
        except ValueError:
            return None
    seconds = np.array(times)
    return seconds if (np.diff(seconds) >= 0).all() else None


def write_gpx_lines(lines: Iterable[NDArray[np.float64]]) -> bytes:
    """Return lines (n, 2) as the segments of one GPX track."""
    written = [*_HEAD, "<trk>"]
    for line in lines:
        points = (f'<trkpt lat="{lat}" lon="{lon}"/>' for lon, lat in line.tolist())
        written += ["<trkseg>", *points, "</trkseg>"]
    return "\n".join([*written, "</trk>", "</gpx>", ""]).encode()


def write_gpx_route(route: Route, heights_m: NDArray[np.float64] | None = None) -> bytes:
    """Return a route as GPX: the instructions as route points, the line as a track."""
    lines = [*_HEAD, "<rte>"]
    positions = route.positions.tolist()
    for leg in route.legs:
        for step in leg.steps:
            lon, lat = positions[step.begin]
            text = escape(step.instruction)
            lines.append(f'<rtept lat="{lat}" lon="{lon}"><desc>{text}</desc></rtept>')
    lines += ["</rte>", "<trk><trkseg>"]
    for index, (lon, lat) in enumerate(positions):
        height = "" if heights_m is None or np.isnan(heights_m[index]) else heights_m[index]
        inner = f"<ele>{height}</ele>" if height != "" else ""
        lines.append(f'<trkpt lat="{lat}" lon="{lon}">{inner}</trkpt>')
    lines += ["</trkseg></trk>", "</gpx>", ""]
    return "\n".join(lines).encode()
