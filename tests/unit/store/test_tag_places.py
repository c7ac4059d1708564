"""Where the elements of frequent tags lie: what is found is what postings and boxes say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.deadline import no_deadline
from mapyard.features import query as queries
from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.features.regions import BoxRegion
from mapyard.features.tags import TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.osm.pbf import iter_blocks
from mapyard.osm.source import prepare_source
from mapyard.store import tag_places
from mapyard.store.columns import open_column, write_column
from mapyard.store.patching.patch import patch_store
from mapyard.store.reader import Store, open_store
from mapyard.store.rtree import FANOUT
from mapyard.store.writer import write_store
from osm_files import write_osm

#: Shares of the tags: of nearly everything to nearly nothing.
KINDS = [("building", 0.8), ("shop", 0.1), ("bar", 0.01), ("bank", 0.0005)]
COUNT = 5_000  # four levels of the tree


def place_nodes(seed: int, count: int = COUNT) -> dict[int, tuple[float, float, dict[str, str]]]:
    rng = np.random.default_rng(seed)
    lonlat = np.column_stack([rng.uniform(-180, 180, count), rng.uniform(-85, 85, count)])
    lonlat[: count // 2] = rng.normal((9.5, 47.1), 0.05, (count // 2, 2))
    kinds = rng.random((count, len(KINDS)))
    return {
        int(number): (
            float(lonlat[number, 0]),
            float(lonlat[number, 1]),
            {key: "yes" for (key, share), drawn in zip(KINDS, kinds[number], strict=True)
             if drawn < share} or {"note": "x"},
        )
        for number in range(1, count)
    }  # fmt: skip


def write(folder: Path, nodes: dict, ways: dict | None = None) -> Path:
    folder.mkdir()
    source = folder / "map.osm.pbf"
    prepare_source([write_osm(folder / "map.osm", nodes, ways)], source)
    return source


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_places, "FEW", 20)
    monkeypatch.setattr(queries, "FEW", 20)


@pytest.fixture
def store(tmp_path: Path, few: None) -> Store:
    nodes = place_nodes(1)
    # Ways reach over many nodes of the tree.
    ways = {i: ([i, i + 2_600], {"shop": "yes"}) for i in range(1, 200)}
    write_store(tmp_path / "elements", write(tmp_path / "in", nodes, ways))
    return open_store(tmp_path / "elements")


def draw_boxes(seed: int) -> list[Bbox]:
    rng = np.random.default_rng(seed)
    boxes = [Bbox(-180, -90, 180, 90), Bbox(170, -90, -170, 90), Bbox(0.5, 0.5, 0.5, 0.5)]
    for size in (0.01, 0.1, 1.0, 30.0):
        for lon, lat in rng.normal((9.5, 47.1), 0.05, (10, 2)):
            boxes.append(Bbox(lon - size, lat - size, lon + size, lat + size))
    return boxes


def check(store: Store, seed: int, is_exact: bool = True) -> None:
    found = 0
    for key, _ in KINDS[:3]:
        kv = store.find_kv(key, "yes")
        for box in draw_boxes(seed):
            expected = np.intersect1d(store.search_box(box), store.rows_with_kv(kv))
            rows = store.search_tag(kv, box, 10_000)
            assert rows is not None
            assert rows.tolist() == expected.tolist()
            found += len(rows)
            if len(expected) > 1 and box.west <= box.east:
                assert store.search_tag(kv, box, len(expected) - 1) is None
                assert store.search_tag(kv, box, len(expected)) is not None
    assert found > 20_000
    # Each node is named once, and only where it holds the tag, or did before an update.
    rows, count = store.feature_rtree.rows, -(-len(store.feature_rtree.rows) // FANOUT)
    kvs = store._column("tag_place_kvs").tolist()
    expected_codes = [
        number * count + node
        for number, kv in enumerate(kvs)
        for node in np.unique(np.flatnonzero(np.isin(rows, store.rows_with_kv(kv))) // FANOUT)
    ]
    codes = store._places_of_tags._nodes[:].tolist()
    assert codes == expected_codes if is_exact else set(codes) >= set(expected_codes)
    assert codes == sorted(set(codes))


def test_boxes_with_a_tag(store: Store) -> None:
    check(store, 2)
    rare, unknown = store.find_kv("bank", "yes"), store.find_kv("bank", "no")
    for kv in (rare, unknown):
        assert store.search_tag(kv, Bbox(-180, -90, 180, 90), 10_000) is None


def test_the_index_of_an_updated_store(store: Store, tmp_path: Path) -> None:
    changed = place_nodes(3, 300)
    changed = {number + 4_800: node for number, node in changed.items()}  # some of them new
    blocks = list(iter_blocks(write(tmp_path / "change", changed)))
    gone = [np.arange(50, 400, dtype=np.int64), np.arange(1, 20), np.empty(0, np.int64)]
    for name, loose in (("appended", 1.0), ("packed", 0.0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mapyard.store.patching.trees.MAX_LOOSE_SHARE", loose)
            patch_store(tmp_path / "elements", tmp_path / name, blocks, gone, {})
        check(open_store(tmp_path / name), 4, is_exact=name == "packed")


def test_answers_are_the_same_with_and_without_it(store: Store, tmp_path: Path) -> None:
    for name in ("tag_place_kvs", "tag_places_base", "tag_places_place", "tag_places_offset"):
        assert (tmp_path / "elements" / f"{name}.npy").is_file()
    asked = [
        FeatureQuery(tags=(TagFilter(key, "in", ("yes",)), *more), region=BoxRegion(box))
        for key, _ in KINDS
        for box in draw_boxes(5)[:25]
        for more in ((), (TagFilter("shop", "absent"),), (TagFilter("bar", "exists"),))
    ]
    listed = store.listed[:]
    expected = []
    for query in asked:
        rows = listed[queries.test_rows(store, query, listed)]
        expected.append(sorted(store.eids(rows).tolist()))
    (tmp_path / "elements" / "tag_place_kvs.npy").unlink()  # as of a store from before
    for one in (store, open_store(tmp_path / "elements")):
        for query, eids in zip(asked, expected, strict=True):
            rows = collect_rows(one, query, no_deadline())
            assert one.eids(rows).tolist() == eids
            page = collect_rows(
                one, query, no_deadline(), limit=3, after_eid=eids[0] if eids else 0
            )
            assert one.eids(page).tolist() == [eid for eid in eids if eid > eids[0]][:3]


def test_what_is_damaged_is_told_and_not_read(store: Store, tmp_path: Path) -> None:
    folder, everywhere = tmp_path / "elements", Bbox(-180, -90, 180, 90)
    kv = store.find_kv("shop", "yes")
    places = open_column(folder, "tag_places_place").copy()
    write_column(folder, "tag_places_place", np.full_like(places, 15 << 4 | 15))
    with pytest.raises(IndexError, match="damaged"):
        open_store(folder).search_tag(kv, everywhere, 10_000)
    write_column(folder, "tag_places_place", places)
    levels = open_column(folder, "feature_rtree_levels").copy()
    write_column(folder, "feature_rtree_levels", levels[:3])
    with pytest.raises((IndexError, ValueError)):
        open_store(folder).search_tag(kv, everywhere, 10_000)
