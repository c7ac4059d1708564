from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapyard.deadline import no_deadline
from mapyard.errors import InvalidRequest
from mapyard.geocoding.answer.batch import (
    ADDED,
    Options,
    added_values,
    answer_rows,
    find_encoding,
    find_unused,
    kept_columns,
    read_csv,
    read_ndjson,
)
from mapyard.geocoding.geocoder import Geocoder

OpenMap = Callable[[str], Geocoder]

pytestmark = pytest.mark.topic("batch")


def test_rows_of_all_forms_keep_their_order(geocoder: Geocoder) -> None:
    rows = [
        "Hauptstrasse 9, Neustadt",
        {"street": "Hauptstrasse", "housenumber": "5", "city": "Altdorf"},
        {"lat": 47.2052, "lng": 9.502},
        [9.502, 47.2052],
        {"type": "Point", "coordinates": [9.502, 47.2052]},
        {"address": "Clematisweg 2"},
        "xyzzyplugh",
        "",
        {"lat": 95, "lng": 9},
        {"lat": "north", "lng": 9},
        {"nothing": 1},
        17,
    ]
    answers = list(answer_rows(geocoder, rows, Options(), no_deadline()))
    found = [a.features[0]["properties"]["osm_id"] if a.features else None for a in answers]
    assert found == [4002, 4101, 4000, 4000, 4000, 4300, None, None, None, None, None, None]
    assert [bool(a.error) for a in answers] == [False] * 7 + [True] * 5


def test_csv_reads_delimiters_and_names() -> None:
    for delimiter in ",;\t":
        text = (
            "\ufeff" + delimiter.join(["id", "Adresse"]) + f'\n1{delimiter}"Weg 1{delimiter} X"\n'
        )
        columns, rows, found = read_csv(text)
        assert (columns, found) == (["id", "Adresse"], delimiter)
        assert rows == [{"id": "1", "Adresse": f"Weg 1{delimiter} X"}]


def test_csv_without_an_address_column_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="first line must name the columns"):
        read_csv("foo,bar\n1,2\n")


def test_added_values_match_their_columns(geocoder: Geocoder) -> None:
    answers = list(answer_rows(geocoder, ["Clematisweg 2", ""], Options(), no_deadline()))
    good, bad = (dict(zip(ADDED, added_values(a), strict=True)) for a in answers)
    assert good["match_display_name"] == "Clematisweg 2, 9490 Neustadt, Testland"
    assert good["match_osm_id"] == 4300
    assert good["match_error"] == ""
    assert bad["match_error"] == "is empty"


def answer(geocoder: Geocoder, *rows: Any) -> list[Any]:
    """Return the element of the best answer to each row, or what was wrong."""
    return [
        a.features[0].get("id") if a.features else a.error
        for a in answer_rows(geocoder, rows, Options(), no_deadline())
    ]


def test_all_columns_of_a_row_are_read_together(geocoder: Geocoder) -> None:
    assert answer(
        geocoder,
        {"address": "Hauptstrasse 1", "city": "Altdorf"},
        {"address": "Hauptstrasse 1", "city": "Neustadt", "postcode": "9490"},
        {"address": "Hauptstrasse 1, Altdorf", "city": "Altdorf", "country": "Liechtenstein"},
        {"address": "Hauptstrasse 1", "plz": "9494", "land": "LI"},
        {"address": "Hauptstrasse 1", "country": "AT"},
    ) == ["node/4100", "node/4000", "node/4100", "node/4100", ""]


def test_a_text_with_a_position_is_looked_for_near_it(geocoder: Geocoder) -> None:
    near, far = {"lat": 47.212, "lon": 9.532}, {"lat": "47,212", "lon": "9,512"}
    assert answer(geocoder, {"q": "pizza"} | near, {"q": "pizza"} | far) == [
        "node/5103",
        "node/5102",
    ]


def test_languages_and_limits_of_single_rows(geocoder: Geocoder) -> None:
    rows = [{"q": "Neustadt", "lang": "ja"}, {"q": "Neustadt"}, {"q": "Hauptstrasse", "limit": 2}]
    first, second, third = answer_rows(geocoder, rows, Options(), no_deadline())
    assert first.features[0]["properties"]["name"] == "新町"
    assert second.features[0]["properties"]["name"] == "Neustadt"
    assert len(third.features) == 2
    assert answer(geocoder, {"q": "Neustadt", "limit": "many"})[0].startswith("limit must be")


def test_columns_that_say_nothing_are_named() -> None:
    columns = ["id", "Address", "City", "turnover", "q", "match_lat"]
    assert find_unused(columns) == ["turnover", "q"]
    assert kept_columns(columns) == ["id", "Address", "City", "turnover", "q"]


def test_levels_parts_and_lost_words(geocoder: Geocoder) -> None:
    rows = ["Clematisweg 2", "Kardinal Stefan Gasse 6", "Hauptstrasse", "Neustadt", "9494",
            "Café Größe", "Hauptstrasse 9 Penthouse"]  # fmt: skip
    answers = answer_rows(geocoder, rows, Options(), no_deadline())
    found = [dict(zip(ADDED, added_values(a), strict=True)) for a in answers]
    assert [row["match_level"] for row in found] == [
        "house", "interpolated", "street", "town", "postcode", "poi", "house",
    ]  # fmt: skip
    assert (found[0]["match_street"], found[0]["match_house_number"]) == ("Clematisweg", "2")
    assert (found[0]["match_city"], found[0]["match_country"]) == ("Neustadt", "LI")
    assert [row["match_unmatched"] for row in found[5:]] == ["", "penthouse"]


@pytest.mark.parametrize(
    ("encoding", "found"), [("utf-8", "utf-8-sig"), ("utf-16", "utf-16"), ("cp1252", "cp1252")]
)
def test_encodings_are_recognized(tmp_path: Path, encoding: str, found: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("q\nStädtle 32\n".encode(encoding))
    assert find_encoding(path) == found
    assert path.read_text(find_encoding(path)).startswith("q\nStädtle")


def test_ndjson_names_the_bad_line() -> None:
    assert read_ndjson('"Weg 1"\n\n{"q": "Weg 2"}\n') == ["Weg 1", {"q": "Weg 2"}]
    with pytest.raises(InvalidRequest, match="line 2 is not JSON"):
        read_ndjson('"Weg 1"\n{"q": \n')


#: Header and row of files as people have them, and the element that is meant (of Vaduz or Leeds).
FILES = [
    ("vaduz-cut", "q", "Städtle 32, Vaduz", "way/28712148"),
    ("vaduz-cut", "Adresse", "Städtle 32, Vaduz", "way/28712148"),
    ("vaduz-cut", "address,city", "Städtle 32,Vaduz", "way/28712148"),
    ("vaduz-cut", "Strasse;Hausnummer;PLZ;Ort", "Städtle;32;9490;Vaduz", "way/28712148"),
    ("vaduz-cut", "Straße;Nr;Ort", "Städtle;32;Vaduz", "way/28712148"),
    ("vaduz-cut", "STREET,HOUSENUMBER,ZIP", "Städtle,32,9490", "way/28712148"),
    ("vaduz-cut", "rue,numero,ville,pays", "Städtle,32,Vaduz,Liechtenstein", "way/28712148"),
    ("vaduz-cut", "street\thouse_number\tcity", "Städtle\t32\tVaduz", "way/28712148"),
    ("vaduz-cut", "id,street,city", "7,Städtle 32,Vaduz", "way/28712148"),
    ("vaduz-cut", "turnover;q;note", "100;Städtle 32;none", "way/28712148"),
    ("vaduz-cut", "q,country", "Städtle 32,LI", "way/28712148"),
    ("vaduz-cut", "lat,lon", "47.1396,9.5223", "way/28712148"),
    ("vaduz-cut", "latitude;longitude", "47,1396;9,5223", "way/28712148"),
    ("vaduz-cut", "y,x", "47.1396,9.5223", "way/28712148"),
    ("vaduz-cut", "company,city", "Kunstmuseum Liechtenstein,Vaduz", "way/28712148"),
    ("vaduz-cut", "company,address", 'Meier & Co,"Städtle 32, Vaduz"', "way/28712148"),
    ("vaduz-cut", "Firma;Adresse", "Meier & Co;Städtle 32, 9490 Vaduz", "way/28712148"),
    ("vaduz-cut", "name,address", "Restaurant Engel,Vaduz", "node/315636971"),
    ("vaduz-cut", "name,lat,lon", "Restaurant Engel,47.1408,9.5225", "node/315636971"),
    ("leeds-cut", "street,postcode", "29 Eastgate,LS2 7LY", "node/5407217956"),
    ("leeds-cut", "street,number,postal_code", "Eastgate,29,LS27LY", "node/5407217956"),
    ("leeds-cut", "address,postcode,country", "29 Eastgate,LS2 7LY,GB", "node/5407217956"),
    ("leeds-cut", "full_address", '"29 Eastgate, Leeds, LS2 7LY"', "node/5407217956"),
]


@pytest.mark.parametrize(("where", "header", "row", "element"), FILES)
def test_files_as_people_have_them(
    open_map: OpenMap, where: str, header: str, row: str, element: str
) -> None:
    _, rows, _ = read_csv(f"{header}\n{row}\n")
    (found,) = answer_rows(open_map(where), rows, Options(), no_deadline())
    assert found.error == ""
    assert found.features[0]["id"] == element


#: Rows that cannot be read, and what is said of them.
BAD_ROWS: list[tuple[Any, str]] = [
    ("", "is empty"),
    ("   ", "is empty"),
    (None, "must be a text"),
    (True, "must be a text"),
    ([1, 2, 3], "must be a text"),
    ({}, "has no address"),
    ({"lat": 91, "lon": 0}, "lat"),
    ({"lat": "x", "lon": "y"}, "lat"),
    ({"q": "Vaduz", "limit": 0}, "limit"),
    ({"q": "Vaduz", "limit": 99}, "limit"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_bad_rows_say_why_and_spoil_no_others(geocoder: Geocoder, row: Any, message: str) -> None:
    bad, good = answer_rows(geocoder, [row, "Neustadt"], Options(), no_deadline())
    assert message in bad.error
    assert bad.features == []
    assert good.features


@pytest.mark.parametrize("column", ["name", "company"])
def test_names_of_customers_lose_no_address(geocoder: Geocoder, column: str) -> None:
    address = "Hauptstrasse 9, Neustadt"
    rows = [{"address": address}, {column: "Ana Müller & Söhne", "address": address}]
    alone, named = answer_rows(geocoder, rows, Options(), no_deadline())
    plain, best = alone.features[0]["properties"], named.features[0]["properties"]
    assert (plain["osm_id"], best["osm_id"]) == (4002, 4002)
    assert best["match"]["unmatched"] == ["Ana Müller & Söhne"]
    assert best["confidence"] <= 0.5 < plain["confidence"]
