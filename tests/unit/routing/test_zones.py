"""Time zones, read without the package that the data are made for; that package is the peer."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mapyard.routing.zones import open_zones


@pytest.mark.parametrize(
    ("lon", "lat", "name"),
    [
        (7.42, 43.73, "Europe/Monaco"),
        (9.52, 47.14, "Europe/Vaduz"),
        (-0.12, 51.5, "Europe/London"),
        (90.4, 23.8, "Asia/Dhaka"),
        (28.5, -29.6, "Africa/Maseru"),  # Lesotho is a hole of South Africa
        (-150.0, 0.0, "Etc/GMT+10"),
        (179.9, 71.2, "Asia/Anadyr"),  # Wrangel Island, on both sides of 180 degrees
    ],
)
def test_a_position_is_in_its_zone(lon: float, lat: float, name: str) -> None:
    assert open_zones().find(lon, lat) == name


def test_rings_and_answers_are_those_of_timezonefinder() -> None:
    peer_module = pytest.importorskip("timezonefinder")
    zones, draw = open_zones(), random.Random(5)
    with peer_module.TimezoneFinder() as peer:
        for name in ("Europe/Rome", "Africa/Johannesburg", "Etc/GMT", "Asia/Anadyr"):
            mine = list(zones.get_area(name).geoms)
            theirs = peer.get_geometry(tz_name=name, coords_as_pairs=True)
            assert len(mine) == len(theirs)
            for polygon, (outer, *holes) in zip(mine, theirs, strict=True):
                for ring, points in zip(
                    [polygon.exterior, *polygon.interiors], [outer, *holes], strict=True
                ):
                    found = np.asarray(ring.coords)[: len(points)]
                    np.testing.assert_allclose(found, np.asarray(points), atol=1e-9)
        for _ in range(300):
            lon, lat = draw.uniform(-180, 180), draw.uniform(-60, 75)
            assert zones.find(lon, lat) == peer.timezone_at(lng=lon, lat=lat)
