"""Known places against the borders data."""

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.osm.countries import find_region, find_region_indexes, get_regions, iter_regions

PLACES = [
    (9.5209, 47.1410, "LI", False, False),
    (7.4246, 43.7384, "MC", False, False),
    (-1.5491, 53.8008, "GB", True, True),
    (73.5093, 4.1755, "MV", True, False),
    (114.1694, 22.3193, "HK", True, False),
    (-64.9307, 18.3419, "VI", True, True),
    (139.6917, 35.6895, "JP", True, False),
    (179.9, -16.5, "FJ", True, False),
    (-76.6122, 39.2904, "US", False, True),
]


@pytest.mark.parametrize(("lon", "lat", "code", "left", "miles"), PLACES)
def test_knows_code_driving_side_and_units(lon, lat, code, left, miles):
    region = find_region(lon, lat)
    assert region is not None
    assert (region.code, region.drives_on_left, region.uses_miles) == (code, left, miles)


def test_part_of_a_country_has_both_names():
    region = find_region(-1.5491, 53.8008)
    assert region is not None
    assert (region.name, region.country_name) == ("England", "United Kingdom")


def test_the_high_seas_have_no_country():
    assert find_region(0.0, 0.0) is None


def test_arrays_answer_as_single_positions_do():
    places = np.array([(lon, lat) for lon, lat, *_ in PLACES] + [(0.0, 0.0)])
    indexes = find_region_indexes(places[:, 0], places[:, 1])
    codes = [get_regions()[index].code if index >= 0 else None for index in indexes]
    assert codes == [code for _, _, code, *_ in PLACES] + [None]
    assert find_region_indexes([], []).shape == (0,)


def test_regions_of_a_box_include_neighbors_only():
    codes = {region.code for region in iter_regions(Bbox(9.47, 47.04, 9.64, 47.27))}
    assert codes == {"LI", "CH", "AT"}
    assert "FJ" in {region.code for region in iter_regions(Bbox(179.0, -17.0, -179.0, -16.0))}


def test_geometries_are_valid():
    assert all(region.geometry.is_valid for region in get_regions())
