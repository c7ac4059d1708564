"""What an update takes over, and where it looks again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapyard.geocoding.build import cells
from mapyard.geocoding.build.cells import SIZE_DEG, Cells, boxes_of_points
from mapyard.geocoding.build.chains import find_doubt
from mapyard.geocoding.build.memo import Memo, Nearest, Previous, name_points
from mapyard.store.distinct import distinct, distinct_rows
from mapyard.store.reader import Store, open_store
from mapyard.store.row_map import RowMap
from mapyard.store.writer import write_store
from osm_files import square, write_osm
from texts import prepare_source

Boxes = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def test_cells_hold_what_is_near_and_little_else() -> None:
    random = np.random.default_rng(1)
    lon, lat = random.uniform(-0.1, 0.1, (2, 5000))
    boxes = np.array([[-0.02, 0.01, -0.01, 0.03], [0.05, 0.05, 0.05, 0.05]])
    reach = 0.004
    near = np.zeros(len(lon), np.bool_)
    for west, south, east, north in boxes:
        near |= (
            (lon >= west - reach) & (lon <= east + reach)
            & (lat >= south - reach) & (lat <= north + reach)
        )  # fmt: skip
    held = Cells(boxes, reach).hold(lon, lat)
    assert held[near].all()
    assert held.sum() < 3 * near.sum()
    assert not Cells(boxes[:0]).hold(lon, lat).any()
    assert not Cells(boxes).hold(np.array([np.nan]), np.array([np.nan]))[0]


def test_cells_meet_small_and_large_boxes() -> None:
    cells = Cells(boxes_of_points(np.array([0.0501]), np.array([0.0501])))
    boxes = np.array([
        [0.0500, 0.0500, 0.0502, 0.0502], [0.0480, 0.0502, 0.0502, 0.0520],
        [0.1, 0.1, 0.1001, 0.1001], [-1.0, -1.0, 1.0, 1.0],
    ])  # fmt: skip
    assert cells.meet(boxes).tolist() == [True, True, False, True]


def test_too_many_cells_are_the_whole_world() -> None:
    cells = Cells(np.array([[-180.0, -90.0, 180.0, 90.0]]))
    assert cells.hold(np.array([5.0, 999.0]), np.array([5.0, 1.0])).all()


def test_distinct_values_are_those_of_numpy() -> None:
    values = np.random.default_rng(2).integers(0, 50, 200)
    assert distinct(values).tolist() == np.unique(values).tolist()
    assert distinct(values[:0]).tolist() == []
    both = distinct_rows([values[:90], values[90:].astype(np.uint32)])
    assert both.tolist() == np.unique(values).tolist()
    assert distinct_rows([]).dtype == np.uint32


class Calls:
    """A function of rows or places that notes what it was asked."""

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.asked: list[list[int]] = []

    def __call__(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> object:
        self.asked.append(rows.tolist())
        return rows * self.factor


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """Folder of two stores, before and after: of two square towns one grows to the east."""
    for name, east in (("before", 9.52), ("after", 9.53)):
        nodes = square(10, 9.5, 47.2, 0.02) | square(20, 9.6, 47.2, 0.02)
        nodes[11], nodes[12] = (east, 47.2), (east, 47.22)
        ways = {
            first: ([*range(first, first + 4), first], {"place": "town", "name": f"Town {first}"})
            for first in (10, 20)
        }
        source = write_osm(tmp_path / f"{name}.osm", nodes, ways)
        prepare_source([source], tmp_path / f"{name}.osm.pbf")
        write_store(tmp_path / name, tmp_path / f"{name}.osm.pbf")
    return tmp_path


def stores(towns: Path) -> tuple[Store, Store]:
    return open_store(towns / "before"), open_store(towns / "after")


def after_memo(towns: Path, touched: list[int]) -> Memo:
    before, after = stores(towns)
    same = RowMap.of(np.arange(before.row_count))
    previous = Previous(towns / "old", before, same, np.array(touched, np.int64))
    return Memo(after, towns / "new", previous)


def test_functions_of_a_row_hold_until_it_is_touched(towns: Path) -> None:
    memo = Memo(stores(towns)[0], towns / "old")
    first = Calls(10)
    assert memo.by_row("x", np.array([4, 1, 5]), first).tolist() == [40, 10, 50]
    memo.close()
    memo = after_memo(towns, touched=[4])
    again = Calls(100)
    assert memo.by_row("x", np.array([1, 4, 5, 7]), again).tolist() == [10, 400, 50, 700]
    assert again.asked == [[4, 7]]
    assert memo.by_row("new", np.array([1, 2]), again).tolist() == [100, 200]


def test_functions_of_a_point_hold_but_where_something_changed(towns: Path) -> None:
    lon, lat = np.array([9.5, 9.55, 9.6]), np.full(3, 47.2)
    memo = Memo(stores(towns)[0], towns / "old")
    rows, labels = np.array([2, 3, -1]), np.array([1, 1, -1])
    names = name_points(np.array([1, 4, 5]), 1)
    memo.by_point("x", lon, lat, lambda open_: rows[open_], None, names, labels=labels)
    memo.close()

    def ask(dirty: Cells, labels: list[int]) -> list[list[int]]:
        calls = Calls(1)
        memo.by_point("x", lon, lat, calls, dirty, names, labels=np.array(labels))  # type: ignore[arg-type]
        return calls.asked

    memo = after_memo(towns, touched=[])
    nowhere = Cells(np.empty((0, 4)))
    assert ask(nowhere, [1, 1, -1]) == []
    assert ask(nowhere, [1, 5, -1]) == [[1]]
    assert ask(Cells(np.array([[9.59, 47.1, 9.61, 47.3]])), [1, 1, -1]) == [[2]]
    assert memo.previous is not None
    row_map = memo.previous.row_map.without(np.array([3]))
    memo.previous = replace(memo.previous, row_map=row_map)
    assert ask(nowhere, [1, 1, -1]) == [[1]]


def test_a_moved_border_is_in_doubt_only_where_it_moved(towns: Path) -> None:
    before, after = stores(towns)
    areas = np.array([before.find_row(1, 10), before.find_row(1, 20)])
    assert find_doubt(Memo(before, towns / "old"), "area", areas) is None
    memo = after_memo(towns, touched=[int(areas[0])])
    doubt = find_doubt(memo, "area", areas)
    assert doubt is not None
    lon = np.array([9.505, 9.525, 9.535 + SIZE_DEG, 9.605])
    assert doubt.hold(lon, np.full(4, 47.21)).tolist() == [False, True, False, False]
    assert after.row_count == before.row_count


def test_rows_differ_when_touched_new_gone_or_labelled_otherwise(towns: Path) -> None:
    memo = Memo(stores(towns)[0], towns / "old")
    memo.compare("x", np.array([1, 2, 3, 4]), np.array([0, 0, 0, -1]))
    memo.close()
    memo = after_memo(towns, touched=[2])
    found = memo.compare("x", np.array([2, 3, 4, 5]), np.array([0, 1, -1, 0]))
    assert [rows.tolist() for rows in found] == [[1, 2, 3], [2, 3, 5], [4]]


def test_only_what_lies_in_a_widened_box_itself_is_in_doubt() -> None:
    boxes = np.array([[0.001, 0.001, 0.002, 0.002], [0.03, 0.03, 0.03, 0.03]])
    lon = np.array([0.0015, 0.0029, 0.0031, 0.031, 0.0321, 0.5])
    found = Cells(boxes, 0.001).find_in_boxes(lon, lon)
    assert found.tolist() == [0, 1, 3]
    assert not len(Cells(boxes[:0]).find_in_boxes(lon, lon))


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("reach", [0.0, 0.004])
def test_nothing_in_reach_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, reach: float
) -> None:
    """By squares and by the tree; rows in any order."""
    monkeypatch.setattr(cells, "_FEW_POINTS", few)
    random = np.random.default_rng(3)
    places = random.uniform(9.5, 9.7, (200, 2)).round(7).tolist()
    nodes = {n: (x, y, {"amenity": "bench"}) for n, (x, y) in enumerate(places, 1_000)}
    ways = {}
    for n in range(40):
        first = 5_000 + 4 * n
        corners = square(first, *places[n], float(random.uniform(0.0001, 0.05)))
        nodes |= corners  # type: ignore[arg-type]
        ways[n + 1] = ([*corners, first], {"building": "yes"})
    prepare_source([write_osm(tmp_path / "x.osm", nodes, ways)], tmp_path / "x.pbf")
    write_store(tmp_path / "store", tmp_path / "x.pbf")
    store = open_store(tmp_path / "store")
    rows = random.permutation(store.listed.astype(np.int64))[:150]
    near = cells.Near(store, rows, reach)
    boxes = store.boxes(rows) / 1e7
    for count in (1, 7, 60):
        lon, lat = random.uniform(9.5, 9.7, (2, count))
        met = [
            place
            for place, (west, south, east, north) in enumerate(boxes.tolist())
            if ((lon >= west - reach) & (lon <= east + reach)
                & (lat >= south - reach) & (lat <= north + reach)).any()
        ]  # fmt: skip
        found = near.find(lon, lat).tolist()
        assert found == sorted(set(found))
        assert set(met) <= set(found)
        assert count > 1 or len(found) < len(rows)
    assert near.find(np.array([np.nan]), np.array([np.nan])).tolist() in ([], found)


def test_answers_on_pairs_hold_until_one_is_touched(towns: Path) -> None:
    memo = Memo(stores(towns)[0], towns / "old")
    one, other = np.array([4, 4, 5]), np.array([1, 2, 1])
    memo.by_pair("x", one, other, lambda places: np.array([True, False, True])[places])
    asked: list[list[int]] = []

    def compute(places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Any:
        asked.append(places.tolist())
        return np.zeros(len(places), np.bool_)

    memo = after_memo(towns, touched=[2])
    one, other = np.array([4, 4, 5, 3]), np.array([1, 2, 1, 1])
    assert memo.by_pair("x", one, other, compute).tolist() == [True, False, True, False]
    assert asked == [[1, 3]]


def test_the_nearest_is_improved_where_it_stands_and_found_anew_where_not(towns: Path) -> None:
    lon, lat = np.array([9.5, 9.51, 9.6]), np.full(3, 47.2)
    names = name_points(np.array([1, 4, 5]), 0)
    rows = np.array([2, 3, -1])
    memo = Memo(stores(towns)[0], towns / "old")
    memo.by_point("x", lon, lat, lambda open_: rows[open_], None, names)
    memo.close()
    memo = after_memo(towns, touched=[3])
    calls, improved = Calls(1), []

    def improve(places: Any, answers: Any) -> Any:
        improved.append((places.tolist(), answers.tolist()))
        return answers + 5

    everywhere = Cells(np.array([[9.4, 47.1, 9.7, 47.3]]))
    nearest = Nearest(np.array([1, 2]), improve)
    found = memo.by_point("x", lon, lat, calls, everywhere, names, nearest=nearest)  # type: ignore[arg-type]
    assert improved == [([0, 2], [2, -1])]
    assert calls.asked == [[1]]
    assert found.tolist() == [7, 1, 4]
