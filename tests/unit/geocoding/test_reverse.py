"""Reverse geocoding on the country made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mapyard.geocoding.geocoder import Feature, Geocoder

pytestmark = pytest.mark.topic("reverse")

WEST, SOUTH = 9.5, 47.2


def look(
    geocoder: Geocoder, x: float, y: float, limit: int = 1, radius_m: float = 200.0, **options: Any
) -> list[Feature]:
    return geocoder.reverse(WEST + x / 1000, SOUTH + y / 1000, radius_m, limit, **options)


def test_house_at_its_own_point(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 6, 5.2)
    assert found["properties"]["display_name"] == "Hauptstrasse 9, 9490 Neustadt, Testland"
    assert found["properties"]["distance_m"] == 0
    assert found["properties"]["osm_id"] == 4002


def test_inside_a_building_is_at_no_distance(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 10.45, 10.25)
    assert found["properties"]["display_name"] == "Clematisweg 14, 9490 Neustadt, Testland"
    assert found["properties"]["distance_m"] == 0
    assert (found["properties"]["osm_type"], found["properties"]["osm_id"]) == ("way", 500)


def test_distance_is_to_the_outline(geocoder: Geocoder) -> None:
    # 0.1 thousandths of a degree north of the building's north edge at 10.7.
    (found,) = look(geocoder, 10.25, 10.8)
    assert found["properties"]["house_number"] == "14"
    assert found["properties"]["distance_m"] == pytest.approx(11.1, abs=0.1)


def test_interpolation_line_between_houses(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 10, 12.31)
    properties = found["properties"]
    assert properties["source"] == "interpolation"
    # x 10 is half way from 10 (x 5) to 20 (x 15); the next even number is meant.
    assert properties["house_number"] in ("14", "16")
    assert properties["street"] == "Kardinal Stefan Gasse"
    assert properties["osm_id"] is None


def test_long_street_is_as_near_as_its_line(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 16, 5.1)
    properties = found["properties"]
    assert (properties["name"], properties["category"]) == ("Hauptstrasse", "highway")
    assert properties["distance_m"] == pytest.approx(11.1, abs=0.2)
    lon, lat = found["geometry"]["coordinates"]
    assert (lon, lat) == (pytest.approx(9.516, abs=1e-6), pytest.approx(47.205, abs=1e-6))


def test_far_from_houses_the_areas_answer(geocoder: Geocoder) -> None:
    found = look(geocoder, 30, 18, 3)
    assert [f["properties"]["name"] for f in found] == ["Altdorf", "Testland"]
    assert found[0]["properties"]["distance_m"] == 0
    assert look(geocoder, -3, -3)[0]["properties"]["name"] == "Testland"
    assert look(geocoder, 3_000, 0) == []


def test_several_results_come_by_distance(geocoder: Geocoder) -> None:
    found = look(geocoder, 2, 5.2, 5)
    distances = [feature["properties"]["distance_m"] for feature in found]
    assert len(found) == 5
    assert distances[:3] == sorted(distances[:3])
    names = [feature["properties"]["display_name"] for feature in found]
    assert names[0] == "Hauptstrasse 1, 9490 Neustadt, Testland"
    assert "Hauptstrasse, 9490 Neustadt, Testland" in names


def test_layers(geocoder: Geocoder) -> None:
    (poi,) = look(geocoder, 10.2, 10.4, layer="poi")
    assert poi["properties"]["name"] == "Café Größe"
    assert poi["properties"]["house_number"] == "14"
    assert look(geocoder, 16, 8, layer="address") == []
    (street,) = look(geocoder, 16, 10.1, layer="street")
    assert street["properties"]["name"] == "Clematisweg"
    (area,) = look(geocoder, 6, 5.2, layer="admin")
    assert area["properties"]["name"] == "Neustadt"


def test_radius(geocoder: Geocoder) -> None:
    assert look(geocoder, 6, 6.2, layer="address", radius_m=50.0) == []
    (found,) = look(geocoder, 6, 6.2, layer="address", radius_m=150.0)
    assert found["properties"]["distance_m"] == pytest.approx(111.2, abs=0.3)


def test_language(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 6, 5.2, langs=("ja",))
    assert found["properties"]["city"] == "新町"


def test_every_address_of_monaco_is_at_its_own_point(monaco_geocoder: Geocoder) -> None:
    g = monaco_geocoder.gazetteer
    count = len(g.address_row)
    missed = 0
    for entry in range(count):
        lon, lat = float(g.address_lon[entry]) / 1e7, float(g.address_lat[entry]) / 1e7
        (found,) = monaco_geocoder.reverse(lon, lat)
        missed += found["properties"].get("house_number") != g.number_text(entry)
    assert count > 400
    assert missed / count <= 0.01


def test_a_house_node_wins_over_the_area_around_it(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 10.25, 10.45)  # inside of building 14
    assert found["properties"]["house_number"] == "14"
    # Half a meter north of number 9.
    assert look(geocoder, 6, 5.2045)[0]["properties"]["house_number"] == "9"


def test_between_two_houses_both_are_given(geocoder: Geocoder) -> None:
    found = [f["properties"].get("house_number") for f in look(geocoder, 2.5, 5.2, 3, 60)]
    assert {"1", "3"} <= set(found)


@pytest.mark.parametrize(
    ("zoom", "name"),
    [(3, "Testland"), (5, "Testland"), (10, "Neustadt"), (14, "Neustadt"), (16, "Hauptstrasse")],
)
def test_zoom_asks_for_what_a_map_shows(geocoder: Geocoder, zoom: int, name: str) -> None:
    (found,) = look(geocoder, 6, 5.1, zoom=zoom)
    assert found["properties"]["name"] == name


def test_the_house_at_zoom_18(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 6, 5.2, zoom=18)
    assert found["properties"]["house_number"] == "9"


def test_layers_together_by_distance(geocoder: Geocoder) -> None:
    found = look(geocoder, 10.2, 10.4, 5, layer=("poi", "address", "admin"))
    names = [f["properties"].get("name") or f["properties"].get("house_number") for f in found]
    assert {"Café Größe", "14"} <= set(names)
    assert "Neustadt" in [f["properties"].get("name") for f in found]


def test_the_nearest_of_any_tag_however_unnamed(geocoder: Geocoder) -> None:
    wanted = geocoder.gazetteer.store.rows_with_tag("addr:interpolation", "even")
    (found,) = look(geocoder, 10, 12.3, 1, keep=lambda rows: np.isin(rows, wanted), layer="poi")
    assert found["id"] == "way/400"
    assert found["properties"]["city"] == "Neustadt"
    assert found["properties"]["distance_m"] < 1


def test_a_house_in_a_large_area_with_another_number(geocoder: Geocoder) -> None:
    (found,) = look(geocoder, 37, 2.004)  # 0.4 m from the house, inside of the ground
    assert found["properties"]["house_number"] == "41"
    (found,) = look(geocoder, 36.3, 1.3)
    assert found["properties"]["house_number"] == "40"


# ---- on maps of the world ---------------------------------------------------------------------

OpenMap = Callable[[str], Geocoder]
VADUZ, LEEDS, TAIPEI, MOSCOW = "vaduz-cut", "leeds-cut", "taipei-2024-03", "moscow-2013-11"
#: Where, at what position, how; what is there.
THERE: list[tuple[str, float, float, dict[str, Any], str]] = [
    (VADUZ, 9.5223, 47.1396, {}, "Kunstmuseum Liechtenstein, Städtle 32"),
    (VADUZ, 9.5228, 47.1406, {"layer": "poi"}, "Restaurante Cesare, Städtle 15"),
    (VADUZ, 9.5224, 47.1373, {"layer": "street"}, "Peter-Kaiser-Platz"),
    (VADUZ, 9.5150, 47.1429, {"layer": "natural"}, "Giessen"),
    (VADUZ, 9.5243, 47.1411, {"layer": ("poi", "street")}, "Schlossweg"),
    (VADUZ, 9.5219, 47.1391, {"zoom": 18}, "Äulestrasse 51"),
    (VADUZ, 9.5219, 47.1391, {"zoom": 16}, "Städtle"),
    (VADUZ, 9.5219, 47.1391, {"zoom": 10}, "Vaduz"),
    (VADUZ, 9.5219, 47.1391, {"zoom": 10, "langs": ("ru",)}, "Вадуц"),
    (LEEDS, -1.5370, 53.7988, {}, "29 Eastgate"),
    (LEEDS, -1.5337, 53.7974, {}, "BBC Yorkshire, 2 St. Peter's Square"),
    (LEEDS, -1.533189, 53.797135, {"layer": "poi"}, "Kendells Bistro, 3 St. Peter's Square"),
    (LEEDS, -1.5355, 53.7974, {"layer": "natural"}, "Lady Beck"),
    (LEEDS, -1.5362, 53.7995, {}, "1 Lady Beck Close"),
    (LEEDS, -1.5353, 53.7985, {"layer": "street"}, "Regent Street"),
    (LEEDS, -1.5325, 53.7983, {"zoom": 14}, "Quarry Hill"),
    (LEEDS, -1.5360, 53.7985, {"layer": "poi"}, "Arthur Louis Aaron, Eastgate"),
    (MOSCOW, 37.5876, 55.8076, {}, "Новодмитровская улица, 5А с5"),
    (TAIPEI, 121.5207, 25.0526, {}, "台灣, 104, 南西商圈 南京西路"),
    ("filaidhoo-cut", 72.9405, 5.4915, {}, "334/335 Filaidhoo"),
]


@pytest.mark.parametrize(("where", "lon", "lat", "options", "shown"), THERE)
def test_what_is_there(
    open_map: OpenMap, where: str, lon: float, lat: float, options: dict[str, Any], shown: str
) -> None:
    found = open_map(where).reverse(lon, lat, **options)
    assert found[0]["properties"]["display_name"].startswith(shown)


@pytest.mark.parametrize("where", [VADUZ, LEEDS, MOSCOW, "baltimore-cut", "queens-cut"])
def test_every_house_is_at_its_own_point(open_map: OpenMap, where: str) -> None:
    geocoder = open_map(where)
    g = geocoder.gazetteer
    seen = missed = 0
    for entry in range(0, len(g.address_row), 3):
        lon, lat = float(g.address_lon[entry]) / 1e7, float(g.address_lat[entry]) / 1e7
        numbers = [f["properties"].get("house_number") for f in geocoder.reverse(lon, lat, limit=3)]
        seen, missed = seen + 1, missed + (g.number_text(entry) not in numbers)
    assert missed <= seen * 0.02
