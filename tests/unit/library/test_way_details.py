"""Figures per edge, pieces and sums of a way, on a route of Monaco."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import mapyard
from mapyard.geo.sphere import haversine_m
from mapyard.library.way_details import classify_steepness, turn_incline
from mapyard.osm.elements import NODE
from mapyard.store.reader import open_store

CASINO, PALACE = (7.4281, 43.7392), (7.4203, 43.7312)


@pytest.fixture(scope="module")
def m(monaco):
    with mapyard.open(monaco) as opened:
        yield opened


@pytest.fixture(scope="module")
def walk(m):
    return m.route(
        CASINO, PALACE, mode="foot", annotations=True,
        extra_info=["surface", "way_type", "incline", "osm_way_id", "maxspeed"],
    )  # fmt: skip


def test_nodes_of_the_way_are_osms(monaco, walk):
    store = open_store(monaco / "current" / "elements")
    coordinates = np.array(walk.to_geojson()["geometry"]["coordinates"])
    nodes = walk.properties["annotations"]["node_ids"]
    known = [(index, node) for index, node in enumerate(nodes) if node is not None]
    # Only its two ends, and corners of areas that are walked across, may lie between nodes.
    assert len(known) >= len(nodes) - 4
    for index, node in known[:: max(1, len(known) // 40)]:
        row = store.find_row(NODE, node)
        lon, lat = store.lon[row] * 1e-7, store.lat[row] * 1e-7
        assert haversine_m(lon, lat, *coordinates[index]) < 0.3


def test_pieces_follow_each_other_and_add_up(walk):
    extras = walk.properties["extras"]
    last = len(walk.to_geojson()["geometry"]["coordinates"]) - 1
    for name, extra in extras.items():
        begins = [piece[0] for piece in extra["values"]]
        ends = [piece[1] for piece in extra["values"]]
        assert begins == [0, *ends[:-1]], name
        assert ends[-1] == pytest.approx(last, abs=1), name
        values = [piece[2] for piece in extra["values"]]
        assert all(one != other for one, other in pairwise(values)), name
        assert sum(row["share"] for row in extra["summary"]) == pytest.approx(1, abs=0.01), name
        total_m = sum(row["distance_m"] for row in extra["summary"])
        assert total_m == pytest.approx(walk.distance_m, rel=0.02), name


def test_values_are_the_tags_of_the_ways(m, walk):
    extras = walk.properties["extras"]
    ways = {tuple(piece[:2]): piece[2] for piece in extras["osm_way_id"]["values"]}
    kinds = {row["value"] for row in extras["way_type"]["summary"]}
    tagged = {m.feature("way", way).properties.get("highway") for way in ways.values()}
    assert kinds == tagged
    assert "steps" in kinds


def test_inclines_turn_with_the_direction_of_travel(m, walk):
    back = m.route(PALACE, CASINO, mode="foot", extra_info=["incline", "osm_way_id"])

    def read(route):
        """Return the ways with an incline, and which way it goes."""
        found = {}
        for begin, end, value in route.properties["extras"]["incline"]["values"]:
            for first, last, way in route.properties["extras"]["osm_way_id"]["values"]:
                if value in ("up", "down") and begin <= first < last <= end:
                    found[way] = value
        return found

    there, again = read(walk), read(back)
    shared = there.keys() & again.keys()
    assert len(shared) >= 2
    assert all({there[way], again[way]} == {"up", "down"} for way in shared)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("up", "down"), ("down", "up"), ("8%", "-8%"), ("-8%", "8%"), ("+8 %", "-8 %"),
        ("10°", "-10°"), ("0%", "0%"), ("steep", "steep"), ("", ""),
    ],
)  # fmt: skip
def test_an_incline_is_turned_with_the_way(value, other):
    assert turn_incline(value) == other


@pytest.mark.parametrize(
    ("percent", "steep"),
    [(0.9, 0), (1.0, 1), (3.9, 1), (4.0, 2), (-7.5, -3), (12, 4), (16, 5), (-40, -5)],
)
def test_steepness_has_classes(percent, steep):
    assert classify_steepness(percent) == steep
    assert classify_steepness(float("nan")) is None
