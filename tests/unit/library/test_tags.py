"""Tags that go together, counted by hand on a map of five elements."""

from __future__ import annotations

from pathlib import Path

import pytest

import mapyard
from mapyard.errors import InvalidRequest
from mapyard.library.questions import tags as questions
from mapyard.library.results.tags import TagCounts
from osm_files import osm_xml


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> mapyard.Map:
    folder: Path = tmp_path_factory.mktemp("tags")
    cafe = {"amenity": "cafe", "name": "A", "cuisine": "cake"}
    nodes = {
        1: (9.0, 47.0, cafe),
        2: (9.1, 47.0, {"amenity": "cafe", "name": "B"}),
        3: (9.2, 47.0, {"amenity": "bar", "name": "C", "smoking": "no"}),
        4: (9.3, 47.0, {"shop": "bakery", "name": "D"}),
        5: (9.4, 47.0, {"amenity": "cafe"}),
    }
    (folder / "map.osm").write_text(osm_xml(nodes))
    return mapyard.build(folder / "map.osm", data=folder / "data", only=["store"])


def counts(found: TagCounts) -> dict[str, int]:
    return {row.key: row.count for row in found}


def test_keys_that_go_with_a_key(here: mapyard.Map) -> None:
    found = here.tags("amenity", combinations=True)
    assert counts(found) == {"name": 3, "cuisine": 1, "smoking": 1}
    assert (found.elements, found.total) == (4, 3)


def test_keys_that_go_with_a_tag(here: mapyard.Map) -> None:
    found = here.tags("amenity", value="cafe", combinations=True)
    assert counts(found) == {"name": 2, "cuisine": 1}
    assert found.elements == 3
    assert counts(here.tags("amenity", combinations=True, prefix="s")) == {"smoking": 1}
    assert len(here.tags("amenity", value="cinema", combinations=True)) == 0


def test_many_elements_are_sampled(here: mapyard.Map, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "MAX_ELEMENTS", 2)
    found = here.tags("amenity", combinations=True)
    assert found.elements == 2
    assert counts(found) == {"name": 1, "cuisine": 1}  # the first and the last of four


def test_what_makes_no_sense_is_refused(here: mapyard.Map) -> None:
    with pytest.raises(InvalidRequest, match="needs key"):
        here.tags(combinations=True)
    with pytest.raises(InvalidRequest, match="combinations=true"):
        here.tags("amenity", value="cafe")


def test_counts_on_earlier_days(here: mapyard.Map) -> None:
    """This map does not know the day of its data; tests of updates have real ones."""
    keys = here.tags(history=True, limit=1)
    assert (keys[0].key, keys[0].count) == ("amenity", 4)
    assert keys.history is None
    assert here.tags("amenity", history=True).history == ()
    cinema = here.tags("amenity", value="cinema", history=True)
    assert [(row.value, row.count) for row in cinema] == [("cinema", 0)]
    assert here.tags("amenity")[0].history is None
    assert TagCounts.of(keys.to_json()) == keys
    with pytest.raises(InvalidRequest, match="ask twice"):
        here.tags("amenity", history=True, combinations=True)
    with pytest.raises(InvalidRequest, match="needs key"):
        here.tags(value="cafe", history=True)
