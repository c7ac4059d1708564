"""CSV: encodings, delimiters, types, places, and rows that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapyard.userdata.rows import ImportFailed
from mapyard.userdata.write import Limits

from .conftest import Import

SHOPS = """id,name,kind,lat,lon,open,price,code
1,Café Un,cafe,43.7384,7.4246,true,3.5,007
2,"Bar, Deux",bar,43.7314,7.4197,False,4,12
3,,shop,43.7402,7.4273,true,,13
"""


def properties(made: Any) -> list[dict[str, Any]]:
    return [feature["properties"] for feature in made.features]


def positions(made: Any) -> list[Any]:
    return [f["geometry"] and f["geometry"]["coordinates"] for f in made.features]


def test_rows_become_features_with_types(make: Import) -> None:
    made = make(SHOPS)
    assert properties(made) == [
        {"id": 1, "name": "Café Un", "kind": "cafe", "open": True, "price": 3.5, "code": "007"},
        {"id": 2, "name": "Bar, Deux", "kind": "bar", "open": False, "price": 4.0, "code": "12"},
        {"id": 3, "kind": "shop", "open": True, "code": "13"},
    ]
    assert positions(made) == [[7.4246, 43.7384], [7.4197, 43.7314], [7.4273, 43.7402]]
    assert [f["id"] for f in made.features] == ["1", "2", "3"]
    assert made.said.schema["price"] == {"type": "number", "count": 2}
    assert made.said.schema["code"] == {"type": "string", "count": 3}
    assert made.said.bbox == [7.4197, 43.7314, 7.4273, 43.7402]
    assert (made.said.format, made.said.feature_count, made.said.problem_count) == ("csv", 3, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encodings_and_delimiters_are_found(make: Import, encoding: str, delimiter: str) -> None:
    text = f"name{delimiter}lat{delimiter}lon\nCafé{delimiter}47.1{delimiter}9.5\n"
    made = make(text.encode(encoding))
    assert properties(made) == [{"name": "Café"}]
    assert positions(made) == [[9.5, 47.1]]


def test_an_encoding_may_be_named(make: Import) -> None:
    data = "имя,lat,lon\nКафе,47.1,9.5\n".encode("koi8-r")
    assert properties(make(data, encoding="koi8-r")) == [{"имя": "Кафе"}]
    with pytest.raises(ImportFailed, match="the encoding 'klingon' is not known"):
        make(data, encoding="klingon")
    with pytest.raises(ImportFailed, match="is not ascii: say in which encoding"):
        make(data, encoding="ascii")


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("Latitude,LONGITUDE", "47.1,9.5", [9.5, 47.1]),
        ("y,x", "47.1,9.5", [9.5, 47.1]),
        ("lat;lng", "47,1;9,5", [9.5, 47.1]),
        ("wkt", "POINT(9.5 47.1)", [9.5, 47.1]),
        ("geom", "SRID=4326;POINT(9.5 47.1)", [9.5, 47.1]),
        ("geometry", '"{""type"":""Point"",""coordinates"":[9.5,47.1]}"', [9.5, 47.1]),
        ("the_geom", "010100000000000000000023409A99999999194740".replace("9A99999999194740",
         "CDCCCCCCCC8C4740"), [9.5, 47.1]),
    ],
)  # fmt: skip
def test_the_place_is_found_by_the_columns_names(
    make: Import, header: str, row: str, expected: list[float]
) -> None:
    made = make(f"{header}\n{row}\n")
    assert positions(made) == [expected]
    assert properties(made) == [{}]


def test_columns_may_be_named(make: Import) -> None:
    made = make("n,s,e\n1,47.1,9.5\n", lat="s", lon="e")
    assert (positions(made), properties(made)) == ([[9.5, 47.1]], [{"n": 1}])
    with pytest.raises(ImportFailed, match="no column 'north'; there are n, s, e"):
        make("n,s,e\n1,47.1,9.5\n", lat="north", lon="e")


def test_addresses_are_geocoded(make: Import) -> None:
    asked: list[str] = []

    def geocode(texts: Any) -> Any:
        asked.extend(texts)
        return np.array([[9.5, 47.1] if "Städtle" in text else [np.nan] * 2 for text in texts])

    text = "shop,street,house_number,plz,ort\nA,Städtle,25,9490,Vaduz\nB,Nowhere,,,\n"
    made = make(text, geocode=geocode)
    assert asked == ["Städtle 25, 9490 Vaduz", "Nowhere"]
    assert positions(made) == [[9.5, 47.1], None]
    assert made.said.problems == [{"row": 2, "message": "the address 'Nowhere' was not found"}]
    assert properties(made)[0]["street"] == "Städtle"
    made = make("where,a\nStädtle 1,2\n", geocode=geocode, address="where")
    assert positions(made) == [[9.5, 47.1]]
    with pytest.raises(ImportFailed, match="addresses need a geocoder"):
        make("address\nStädtle 1\n")


def test_a_file_without_places_says_what_it_needs(make: Import) -> None:
    with pytest.raises(ImportFailed, match=r"no column says where a row lies; there are a, b\."):
        make("a,b\n1,2\n")
    with pytest.raises(ImportFailed, match="the file is empty"):
        make("")
    with pytest.raises(ImportFailed, match="the file has no rows"):
        make("lat,lon\n")


WRONG = """name,lat,lon
fine,47.1,9.5
letters,forty,9.5
swapped,147.1,47.1
none,,
NaN,nan,nan
few,47.1
many,47.1,9.5,left,over
"""


def test_wrong_rows_stay_without_a_place_and_are_listed(make: Import) -> None:
    made = make(WRONG)
    assert [p["name"] for p in properties(made)] == [
        "fine", "letters", "swapped", "none", "NaN", "few", "many",
    ]  # fmt: skip
    assert [bool(p) for p in positions(made)] == [True, False, False, False, False, False, True]
    assert {problem["row"]: problem["message"] for problem in made.said.problems} == {
        2: "lat 'forty' and lon '9.5' are not degrees, such as 47.14",
        3: "latitude 147.1 and longitude 47.1 are not on Earth: latitude is within ±90, longitude "
        "within ±180, perhaps they are swapped",
        5: "lat 'nan' and lon 'nan' are not degrees, such as 47.14",
        6: "lat '47.1' and lon '' are not degrees, such as 47.14",
        7: "has 5 fields, the header 3: the last are left out",
    }


def test_a_strict_import_fails_at_the_first(make: Import, tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=r"row 2: lat 'forty' and lon '9\.5' are not degrees"):
        make(WRONG, strict=True)
    assert not list(tmp_path.glob("store*"))


def test_names_of_columns_are_made_distinct(make: Import) -> None:
    made = make("a,a,,lat,lon\n1,2,3,47.1,9.5\n")
    assert properties(made) == [{"a": 1, "a_2": 2, "column_3": 3}]


def test_too_much_is_refused(make: Import) -> None:
    wide = ",".join(f"c{n}" for n in range(10_000)) + ",lat,lon\n"
    with pytest.raises(ImportFailed, match="10,002 columns, at most 1,000"):
        make(wide)
    rows = "lat,lon\n" + "47.1,9.5\n" * 11
    with pytest.raises(ImportFailed, match="more than 10 rows"):
        make(rows, limits=Limits(10, 1 << 20))
    with pytest.raises(ImportFailed, match="takes more than 100 bytes"):
        make("name,lat,lon\n" + "a long name,47.1,9.5\n" * 11, limits=Limits(100, 100))


def test_binary_noise_is_no_csv(make: Import) -> None:
    with pytest.raises(ImportFailed, match="the file is not one of csv"):
        make(bytes(range(256)) * 10)
    with pytest.raises(ImportFailed, match="compressed by gzip"):
        make(b"\x1f\x8b\x08\x00")
