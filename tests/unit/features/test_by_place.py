"""Names by place against lists of terms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.features.by_place import GROUP, Box, PlacedNames, PlacedWriter, make_record

Terms = dict[str, list[str]]
WORLD = (-1_800_000_000, -900_000_000, 1_800_000_000, 900_000_000)
WORDS = ["a", "ab", "abc", "abd", "b", "straße", "дом", "東京", "東", "\U0001f3f0", "9", "99"]


def write(
    folder: Path,
    elements: dict[int, tuple[Box, Terms]],
    base: Path | None = None,
    dropped: tuple[int, ...] = (),
) -> PlacedNames:
    writer = PlacedWriter(folder, base, np.array(dropped, np.int64))
    for eid, (box, terms) in elements.items():
        boxes = np.array([box], np.int32)
        writer.add(np.array([eid], np.int64), boxes, [make_record(terms.items())])
    writer.close()
    return PlacedNames(folder)


def at(x: int, *names: str) -> tuple[Box, Terms]:
    return (x, 0, x, 0), {"name": list(names)}


def eids_of(placed: PlacedNames, word: str, box: Box = WORLD) -> list[int]:
    records = placed.find([box], 1 << 40)
    assert records is not None
    return records.list_eids(records.term("name", word)).tolist()


@pytest.mark.parametrize("count", [0, 1, GROUP, GROUP + 1, 700])
def test_terms_and_beginnings(tmp_path: Path, count: int) -> None:
    random = np.random.default_rng(count)
    elements: dict[int, tuple[Box, Terms]] = {}
    for eid in random.permutation(count).tolist():
        x, y = random.integers(-900_000_000, 900_000_000, 2).tolist()
        side = int(random.choice([0, 1_000, 3_000_000]))
        terms = {
            field: random.choice(WORDS, random.integers(0, 4), replace=False).tolist()
            for field in ("name", "other", "name_key")
        }
        elements[eid] = (x, y, x + side, y + side), terms
    placed = write(tmp_path / "placed", elements)
    for box in (WORLD, (0, 0, 300_000_000, 300_000_000), (5, 5, 5, 5)):
        records = placed.find([box], 1 << 40)
        assert records is not None
        near = {
            eid for eid, (b, _) in elements.items()
            if b[0] <= box[2] and b[2] >= box[0] and b[1] <= box[3] and b[3] >= box[1]
        }  # fmt: skip
        for field in ("name", "other", "name_key"):
            for word in [*WORDS, "c", "abcd"]:
                whole = {eid for eid, (_, terms) in elements.items() if word in terms[field]}
                begun = {
                    eid for eid, (_, terms) in elements.items()
                    if any(term.startswith(word) for term in terms[field])
                }  # fmt: skip
                found = records.list_eids(records.term(field, word)).tolist()
                assert found == sorted(found)
                assert near & whole <= set(found) <= whole
                found = records.list_eids(records.prefix(field, word)).tolist()
                assert near & begun <= set(found) <= begun


def test_none_of_nothing_holds(tmp_path: Path) -> None:
    records = write(tmp_path / "placed", {1: at(0, "weg"), 2: at(0, "platz")}).find([WORLD], 64)
    assert records is not None
    assert records.any_of([]).tolist() == [False, False]
    both = records.any_of([records.term("name", "weg"), records.term("name", "platz")])
    assert records.list_eids(both).tolist() == [1, 2]
    assert not records.all_of([both, records.any_of([])]).any()


def test_a_box_is_found_without_the_rest(tmp_path: Path) -> None:
    placed = write(tmp_path / "placed", {i: at(i * 10_000, "weg") for i in range(1, 5_001)})
    found = eids_of(placed, "weg", (10_000_000, 0, 10_100_000, 0))
    assert set(range(1_000, 1_011)) <= set(found)
    assert len(found) <= 3 * GROUP
    assert placed.find([WORLD], 4_000) is None
    assert placed.find([(10_000_000, 0, 10_100_000, 0)], 4_000) is not None
    assert placed.find([(10_000_000, 0, 10_100_000, 0)], GROUP - 1) is None


def test_what_two_boxes_meet_is_there_once(tmp_path: Path) -> None:
    placed = write(tmp_path / "placed", {1: at(-1_799_999_999, "weg"), 2: at(1_799_999_999, "weg")})
    west, east = (-1_800_000_000, -1, -1_700_000_000, 1), (1_700_000_000, -1, 1_800_000_000, 1)
    records = placed.find([west, east], 1 << 40)
    assert records is not None
    assert records.list_eids(records.term("name", "weg")).tolist() == [1, 2]


def test_what_has_no_place_is_in_no_box(tmp_path: Path) -> None:
    nowhere = (2**31 - 1, 2**31 - 1, -(2**31) + 1, -(2**31) + 1), {"name": ["weg"]}
    assert eids_of(write(tmp_path / "placed", {1: nowhere, 2: at(0, "weg")}), "weg") == [2]


def test_updates_share_what_they_do_not_change(tmp_path: Path) -> None:
    first = {i: at(i, "weg") for i in range(100)}
    write(tmp_path / "0", first)
    one = write(tmp_path / "1", {7: at(7, "gasse"), 200: at(200, "weg")}, tmp_path / "0", (7, 8))
    assert eids_of(one, "weg") == [*(i for i in range(100) if i not in (7, 8)), 200]
    assert eids_of(one, "gasse") == [7]
    # The next one writes all that is fresh again.
    two = write(tmp_path / "2", {7: at(7, "platz"), 9: at(9, "weg")}, tmp_path / "1", (9,))
    assert eids_of(two, "weg") == [i for i in range(100) if i not in (7, 8)]
    assert (eids_of(two, "gasse"), eids_of(two, "platz")) == ([], [7])
    assert (tmp_path / "0" / "records_bytes.npy").samefile(tmp_path / "2" / "records_bytes.npy")
    assert not list(tmp_path.rglob("work-*"))
