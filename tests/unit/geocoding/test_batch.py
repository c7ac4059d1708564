from __future__ import annotations

import pytest

from mapyard.deadline import no_deadline
from mapyard.errors import InvalidRequest
from mapyard.geocoding.batch import ADDED, Options, added_values, answer_rows, read_csv
from mapyard.geocoding.geocoder import Geocoder


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
