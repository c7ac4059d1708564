from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mapyard.errors import InvalidRequest
from mapyard.geocoding.build.importance import rate_place, rate_poi, read_importance_file

pytestmark = pytest.mark.topic("order")


def test_places_come_before_points_of_interest() -> None:
    city = rate_place({"population": "500000", "wikidata": "Q1"}, "city", 8)
    village = rate_place({"population": "500"}, "village", 0)
    shop = rate_poi({"shop": "bakery"}, ("shop", "bakery"), has_name=True)
    bench = rate_poi({"amenity": "bench"}, ("amenity", "bench"), has_name=False)
    assert 1 > city > village > shop > bench > 0


def test_strange_populations_do_not_harm() -> None:
    for text in ("", "many", "-5", "1 234", "9" * 40, "12,345"):
        assert 0 < rate_place({"population": text}, "town", 8) < 1


@pytest.mark.parametrize("name", ["importance.csv", "importance.csv.gz"])
def test_file_of_importance(tmp_path: Path, name: str) -> None:
    rows = [
        "language type title importance wikidata_id",
        "en a X 0.7 Q1", "de a X 0.9 Q1", "en a Y 2 Q2",
    ]  # fmt: skip
    text = "\n".join(row.replace(" ", "\t") for row in [*rows, ""])
    path = tmp_path / name
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    assert read_importance_file(path, {"Q1"}) == {"Q1": 0.9}
    assert read_importance_file(path, {"Q2"}) == {"Q2": 1.0}


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "wikidata,importance\nQ1,high\n"])
def test_unreadable_files_of_importance(tmp_path: Path, text: str) -> None:
    path = tmp_path / "importance.csv"
    path.write_text(text)
    with pytest.raises(InvalidRequest, match=r"importance\.csv"):
        read_importance_file(path, {"Q1"})
