from __future__ import annotations

import pytest

from mapyard.geocoding.read.coordinates import find_coordinates
from mapyard.geocoding.read.grids import unproject
from mapyard.geocoding.read.plus_codes import find_plus_code

pytestmark = pytest.mark.topic("coordinates")


@pytest.mark.parametrize(
    "text",
    [
        "47.14, 9.52",
        "47.14 9.52",
        "(47.14, 9.52)",
        "47.14;9.52",
        "geo:47.14,9.52?z=12",
        "N 47.14 E 9.52",
        "47.14° N, 9.52° E",
        "9.52E 47.14N",
        "47°8.4'N 9°31.2'E",
        "47° 08' 24\" N, 9° 31' 12\" E",
        "N47°08′24″ E9°31′12″",
        "47,14 9,52",
        "47,14; 9,52",
        "47,14° N 9,52° E",
        "[47.14, 9.52]",
        "47.14° 9.52°",
        "47°8'24\" 9°31'12\"",
        "47 08 24 N 9 31 12 E",
        "47:08:24N 9:31:12E",
        "47-08-24N 9-31-12E",
        "N47 08.400 E9 31.200",
        "N 47° 8' 24'' , E 9° 31' 12''",
        "47 8 24 9 31 12",
        "+47.14+009.52/",
        "47.14 Nord 9.52 Ost",
        "47 degrees 8 minutes 24 seconds north, 9 degrees 31 minutes 12 seconds east",
        "47°8′24″ с. ш. 9°31′12″ в. д.",
        "北緯47度8分24秒 東経9度31分12秒",
        "lat 47.14 lon 9.52",
        "latitude: 47.14, longitude: 9.52",
        "lon=9.52 lat=47.14",
        "POINT(9.52 47.14)",
        "SRID=4326;POINT Z (9.52 47.14 455)",
        '{"type": "Point", "coordinates": [9.52, 47.14]}',
        "geo:0,0?q=47.14,9.52(Vaduz)",
        "https://www.openstreetmap.org/#map=17/47.14/9.52",
        "https://www.openstreetmap.org/?mlat=47.14&mlon=9.52#map=12/47.1/9.5",
        "https://www.google.com/maps/@47.14,9.52,17z",
        "https://www.google.com/maps/place/X/@47.1,9.5,17z/data=!3m1!4b1!8m2!3d47.14!4d9.52",
        "https://www.google.com/maps?q=47.14,9.52",
        "https://www.google.com/maps/search/?api=1&query=47.14%2C9.52",
        "https://maps.apple.com/?ll=47.14,9.52&q=Vaduz",
        "https://www.bing.com/maps?cp=47.14~9.52&lvl=12",
        "https://yandex.com/maps/?ll=9.52%2C47.14&z=12",
    ],
)
def test_notations_of_one_point(text: str) -> None:
    found = find_coordinates(text)
    assert found is not None
    assert (found.lat, found.lon) == pytest.approx((47.14, 9.52), abs=1e-6)
    assert not found.rest


@pytest.mark.parametrize("text", ["32T NT 39429 20844", "32TNT3942920844", "32T 539429 5220844"])
def test_grids_of_topographic_maps(text: str) -> None:
    found = find_coordinates(text)
    assert found is not None
    assert (found.lat, found.lon) == pytest.approx((47.13992, 9.52), abs=2e-5)


def test_grid_of_a_known_tower() -> None:
    # 48.8582 N, 2.2945 E, as published for the Eiffel Tower.
    assert unproject(31, 448_251.8, 5_411_932.7, is_north=True) == pytest.approx(
        (2.2945, 48.8582), abs=1e-5
    )


def test_west_and_east_are_told_apart_by_the_map_where_both_are_written_o() -> None:
    text = "47,14° N 9,52° O"
    assert find_coordinates(text, lambda lon, lat: lon > 0)[:2] == (9.52, 47.14)  # type: ignore[index]
    assert find_coordinates(text, lambda lon, lat: lon < 0)[:2] == (-9.52, 47.14)  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("coop N 47.14° E 9.52°", "coop"),
        ("Vaduz (47.14, 9.52)", "Vaduz"),
        ("47.14N 9.52E Vaduz", "Vaduz"),
        ("Coop POINT(9.52 47.14)", "Coop"),
        ("Post, lat 47.14, lon 9.52", "Post"),
    ],
)
def test_a_name_beside_a_position_is_kept(text: str, rest: str) -> None:
    found = find_coordinates(text)
    assert found is not None
    assert (found.lon, found.lat, found.rest) == (9.52, 47.14, rest)


def test_southern_and_western_signs() -> None:
    assert find_coordinates("33.5 S, 70.6 W") == pytest.approx((-70.6, -33.5, ""), abs=1e-9)
    assert find_coordinates("-33.5, -70.6")[:2] == (-70.6, -33.5)  # type: ignore[index]


def test_text_before_coordinates_is_kept() -> None:
    found = find_coordinates("starbucks 48.2,16.36")
    assert found == (16.36, 48.2, "starbucks")


@pytest.mark.parametrize(
    "text",
    [
        "Landstrasse 5",
        "9490 Vaduz",
        "5 12",
        "47.14",
        "91.5, 9.5",
        "47° 70' N 9° E",
        "",
        "12, Rue",
        "115 112 220th Street",
        "5 N Main St 12 E",
        "50 N 100 W, Provo",
        "1926 E Fleet St, 21231",
        "N 5 Street 12 E 7 Avenue",
        "https://example.org/47",
    ],
)
def test_no_coordinates(text: str) -> None:
    assert find_coordinates(text) is None


def test_long_texts_take_no_time() -> None:
    import time

    started_s = time.process_time()
    for text in ("1 " * 70, "a1.1 " * 30, "1.1," * 35, "N1" * 70, "a " * 10_000, "1" * 10_000):
        find_coordinates(text)
        find_plus_code(text)
    assert time.process_time() - started_s < 0.1
