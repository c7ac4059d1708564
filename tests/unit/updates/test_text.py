"""Updates of the text index: the same as a build from nothing, whatever changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mapyard.builder import text
from mapyard.builder.pipeline import STORE_STEP, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import Catalog
from mapyard.settings import Settings
from mapyard.text.index import TextIndex
from mapyard.updates import run as updates
from mapyard.updates.run import update_dataset
from mutations import Map
from osm_files import EXAMPLES, TEST_DATA, square, write_osm
from texts import (
    build_text,
    compare_answers,
    find_text_differences,
    list_terms,
    update_text,
)

Serve = Callable[[Path], str]


def build(data: Path, source: Path) -> Path:
    build_dataset([source], data, [STORE_STEP, text.STEP], Reporter(quiet=True))
    return data / "current"


def test_real_diffs_lead_to_what_the_newer_extract_gives(
    tmp_path: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates, "MAX_DIFFS", 4)
    monkeypatch.setattr(text, "MAX_FRESH", 1.0)
    data = tmp_path / "data"
    before = build(data, TEST_DATA / "monaco-2025-11-08.osm.pbf").resolve()
    url = serve_folder(TEST_DATA / "monaco-updates")
    runs = update_dataset(
        data, [text.STEP], Reporter(quiet=True), Settings(data=data, keep_datasets=9), url
    )
    assert [run.outcome for run in runs] == ["updated"] * 4
    fresh = build(tmp_path / "fresh", EXAMPLES / "monaco.osm.pbf")
    after = data / "current"
    assert find_text_differences(after, fresh) == []
    assert compare_answers(after, fresh, 15) == []
    # The tools of this test see differences.
    assert len(find_text_differences(before, fresh)) > 20
    assert compare_answers(before, fresh, 15) != []
    written = [
        Catalog(data).manifest(name).parts["text"].report["written_documents"]
        for name in sorted(Catalog(data).ids())
    ]
    assert max(written[1:]) < written[0]


def write_district(path: Path) -> Path:
    """Two towns in a country, their streets and houses, postal areas, hamlets, and a river."""
    random = np.random.default_rng(7)
    nodes: dict[int, object] = {}
    ways: dict[int, tuple[list[int], dict[str, str]]] = {}
    relations: dict[int, object] = {}
    areas = [
        ("Neustadt", 8, 0.0, 0.0, 0.02), ("Altdorf", 8, 0.02, 0.0, 0.02),
        ("Testland", 2, -0.01, -0.01, 0.06), ("9490", 0, -0.001, -0.001, 0.015),
    ]  # fmt: skip
    for i, (name, level, x, y, size) in enumerate(areas):
        corners = square(1000 + 10 * i, 9.5 + x, 47.2 + y, size)
        nodes |= corners
        ways[100 + i] = ([*corners, next(iter(corners))], {})
        tags = {"type": "boundary", "boundary": "administrative", "admin_level": str(level)}
        if level == 0:
            tags = {"type": "boundary", "boundary": "postal_code", "postal_code": name}
        relations[200 + i] = ([("way", 100 + i, "outer")], tags | {"name": name})
    names = ("Hauptstrasse", "Am Bach", "Clematisweg", "Rue Grimaldi", "Bahnhofstr.")
    for i in range(40):
        x, y = random.uniform(9.5, 9.54), random.uniform(47.2, 47.22)
        nodes[2000 + 2 * i], nodes[2001 + 2 * i] = (x, y), (x + 0.002, y + 0.0005)
        kind = {"waterway": "stream"} if i % 9 == 0 else {"highway": "residential"}
        ways[300 + i] = ([2000 + 2 * i, 2001 + 2 * i], {**kind, "name": names[i % 5]})
    for i in range(120):
        x, y = random.uniform(9.5, 9.54), random.uniform(47.2, 47.22)
        tags = {"addr:housenumber": str(i % 40 + 1)}
        if i % 3:
            tags["addr:street"] = (*names, "Unmapped Lane")[i % 6]
        if i % 4 == 0:
            tags["addr:postcode"] = ("9490", "9494")[i % 8 // 4]
        if i % 5 == 0:
            tags["addr:city"] = ("Neustadt", "Elsewhere")[i % 2]
        if i % 2:
            corners = square(5000 + 4 * i, x, y, 0.0002)
            nodes |= corners
            ways[500 + i] = ([*corners, next(iter(corners))], {"building": "yes", **tags})
            nodes[6000 + i] = (x + 1e-4, y + 1e-4, {"amenity": "cafe", "name": f"Café {i}"})
        else:
            nodes[4000 + i] = (x, y, tags)
    for i in range(40):  # they take the street that they stand on
        x, y = random.uniform(9.5, 9.54), random.uniform(47.2, 47.22)
        own = {"addr:street": names[i % 5]} if i % 8 == 0 else {}
        nodes[8000 + i] = (x, y, {"shop": "books", "name": f"Shop {i}", **own})
    for i, place in enumerate(("village", "hamlet", "suburb", "locality")):
        where = 9.505 + 0.01 * i, 47.23 - 0.01 * i
        nodes[7000 + i] = (*where, {"place": place, "name": f"Weiler {i}"})
    return write_osm(path, nodes, ways, relations)


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_lead_to_what_a_build_gives(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "MAX_FRESH", 1.0)
    changing = Map(write_district(tmp_path / "district.osm"), seed)
    problems = build_text(tmp_path / "0", tmp_path / "district.osm")
    for number in range(1, 6):
        diff, now = tmp_path / f"{number}.osc", tmp_path / f"{number}.osm"
        changing.change(diff, 12)
        changing.write(now)
        before, after = tmp_path / str(number - 1), tmp_path / str(number)
        patched, figures = update_text(before, after, diff, problems)
        problems = patched.problems
        fresh = tmp_path / f"fresh{number}"
        build_text(fresh, now)
        assert find_text_differences(after, fresh) == [], f"round {number}"
        assert compare_answers(after, fresh, 6, number) == [], f"round {number}"
        assert figures["written_documents"] < figures["index_documents"]


def test_an_index_with_too_many_fresh_names_is_written_anew(tmp_path: Path) -> None:
    changing = Map(write_district(tmp_path / "district.osm"), 9)
    problems = build_text(tmp_path / "0", tmp_path / "district.osm")
    changing.change(tmp_path / "1.osc", 60)
    update_text(tmp_path / "0", tmp_path / "1", tmp_path / "1.osc", problems)
    assert not list_terms(TextIndex(tmp_path / "1" / "text" / "index"), "fresh")
    assert not len(np.load(tmp_path / "1" / "text" / "state" / "name_fresh_eids.npy"))


def test_a_dataset_without_a_state_is_built_anew(tmp_path: Path) -> None:
    changing = Map(write_district(tmp_path / "district.osm"), 9)
    problems = build_text(tmp_path / "0", tmp_path / "district.osm")
    (tmp_path / "0" / "text" / "state").rename(tmp_path / "state")
    changing.change(tmp_path / "1.osc", 2)
    changing.write(tmp_path / "1.osm")
    _, figures = update_text(tmp_path / "0", tmp_path / "1", tmp_path / "1.osc", problems)
    assert figures["written_documents"] == figures["index_documents"]
    build_text(tmp_path / "fresh", tmp_path / "1.osm")
    assert find_text_differences(tmp_path / "1", tmp_path / "fresh") == []


def test_the_index_of_the_dataset_before_stays_as_it_is(tmp_path: Path) -> None:
    changing = Map(write_district(tmp_path / "district.osm"), 3)
    problems = build_text(tmp_path / "0", tmp_path / "district.osm")
    folder = tmp_path / "0" / "text" / "index"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    changing.change(tmp_path / "1.osc", 1)
    update_text(tmp_path / "0", tmp_path / "1", tmp_path / "1.osc", problems)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
