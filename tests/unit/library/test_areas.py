"""Areas within reach: of several positions, by time and distance together, and what lies inside."""

from __future__ import annotations

import pytest
import shapely
from shapely.geometry import shape

import mapyard
from mapyard.errors import InvalidRequest, TooLarge
from mapyard.library.inside import read_population

CASINO, PALACE = (7.4281, 43.7392), (7.4203, 43.7312)


@pytest.fixture(scope="module")
def m(monaco):
    with mapyard.open(monaco) as opened:
        yield opened


def shapes(areas):
    return [shape(feature["geometry"]) for feature in areas.to_geojson()["features"]]


def test_times_and_distances_come_together(m):
    both = m.isochrone(CASINO, [300, 120], distance=[250], mode="foot")
    figures = [feature["properties"] for feature in both.to_geojson()["features"]]
    assert [row.get("time_seconds") for row in figures] == [300, 120, None]
    assert [row.get("distance_meters") for row in figures] == [None, None, 250]
    alone = m.isochrone(CASINO, distance=[250], mode="foot")
    assert shapes(both)[2].equals(shapes(alone)[0])


def test_several_positions_have_areas_and_what_they_share(m):
    found = m.isochrone(CASINO, [600, 300], others=[PALACE], intersections=True, mode="foot")
    figures = [feature["properties"] for feature in found.to_geojson()["features"]]
    assert [row.get("position") for row in figures] == [0, 0, 1, 1, None, None]
    assert [row["time_seconds"] for row in figures] == [600, 300] * 3
    assert [row.get("positions") for row in figures[4:]] == [[0, 1], [0, 1]]
    areas = shapes(found)
    for first, second, common in zip(areas[:2], areas[2:4], areas[4:], strict=True):
        assert common.symmetric_difference(first.intersection(second)).area < 1e-10
    assert figures[4]["area_m2"] < min(figures[0]["area_m2"], figures[2]["area_m2"])
    assert figures[4]["area_m2"] > 0
    assert areas[5].is_empty  # five minutes from both: nothing
    assert figures[5]["area_m2"] == 0


def test_elements_inside_are_counted(m):
    found = m.isochrone(CASINO, [300], mode="foot", count=["amenity=cafe", "shop", "amenity=none"])
    (area,) = shapes(found)
    counts = found.to_geojson()["features"][0]["properties"]["counts"]
    assert list(counts) == ["amenity=cafe", "shop", "amenity=none"]
    for text, tags in (("amenity=cafe", {"amenity": "cafe"}), ("shop", {"shop": "*"})):
        near = m.features(tags=tags, intersects=shapely.to_geojson(area)).to_geojson()
        assert counts[text] == len(near["features"]) > 0
    assert counts["amenity=none"] == 0


def test_people_are_those_of_settlements(m):
    found = m.isochrone(CASINO, [60, 7200], mode="foot", population=True).to_geojson()
    near, far = (feature["properties"]["population"] for feature in found["features"])
    assert near == {"people": None, "places": 0, "places_with_population": 0}
    assert far["places"] >= far["places_with_population"] >= 1
    assert far["people"] > 1_000


@pytest.mark.parametrize(
    ("text", "people"),
    [("1234", 1234), ("1,234", 1234), ("1 234", 1234), ("~500", None), ("", None), ("many", None),
     ("12.345", 12345)],
)  # fmt: skip
def test_populations_are_numbers(text, people):
    assert read_population(text) == people


def test_what_makes_no_sense_is_refused(m):
    with pytest.raises(InvalidRequest, match="needs others"):
        m.isochrone(CASINO, [60], intersections=True)
    with pytest.raises(InvalidRequest, match="exclude each other"):
        m.isochrone(CASINO, [60], contours_minutes=[1])
    with pytest.raises(TooLarge):
        m.isochrone(CASINO, [60], others=[PALACE] * 10)
