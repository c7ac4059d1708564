"""Name search against a plain look at every element."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mapyard.deadline import no_deadline
from mapyard.features import query as queries
from mapyard.features import search
from mapyard.features.by_place import Box, PlacedNames, Records
from mapyard.features.regions import BoxRegion
from mapyard.features.search import Filter, find_searchable_rows, search_names
from mapyard.features.tags import parse_tag_filters
from mapyard.geo.bbox import Bbox
from mapyard.store.reader import Store, open_store, to_units
from mapyard.text.analysis import slots, terms
from mapyard.text.index import TextIndex
from mapyard.text.names import OTHER_KEYS, iter_names, split_values
from osm_files import EXAMPLES, write_osm


@pytest.fixture(scope="module")
def opened(build_once: Callable[..., Path]) -> tuple[Store, TextIndex]:
    folder = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"]) / "current"
    return open_store(folder / "elements"), TextIndex(folder / "text" / "index")


@pytest.fixture(scope="module")
def placed(build_once: Callable[..., Path]) -> PlacedNames:
    folder = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"]) / "current"
    return PlacedNames(folder / "text" / "placed")


@pytest.fixture(scope="module")
def village(build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> TextIndex:
    tags = [
        {"place": "village", "name": "Aldorf"},
        {"name": "Aldorf"},
        {"name": "Bahnhof Aldorf", "ref": "AD 7"},
        {"alt_name": "Aldorfer Hof;Zur Linde", "amenity": "pub"},
        {"shop": "bakery", "brand": "Kornblume", "operator": "Meier & Söhne"},
        {"name": "東京駅", "name:en": "Tokyo Station", "name:ja_rm": "Tōkyō Eki"},
        {"name": "مكتبة", "old_name:fr": "Bibliothèque"},
        {"official_name": "Republik Aldorf", "short_name": "RA"},
        {"highway": "bus_stop"},
        {"name": "Café Größe"},
    ]
    source = write_osm(
        tmp_path_factory.mktemp("search") / "village.osm",
        {i + 1: (9.0 + i / 1000, 47.0, t) for i, t in enumerate(tags)},
    )
    return TextIndex(build_once("village", source, ["text"]) / "current" / "text" / "index")


def find(index: TextIndex, text: str) -> list[int]:
    return [eid >> 2 for eid in search_names(index, text, 100).eids]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Aldorf", [1, 2, 3, 8, 4]),  # the place, the name, all words, beginnings
        ("aldorf bahnhof", [3]),
        ("bahnh", [3]),
        ("ad7", [3]),
        ("AD 7", [3]),
        ("zur linde", [4]),
        ("linde", [4]),
        ("kornblume", [5]),
        ("Meier", [5]),
        ("soehne", [5]),
        ("東京", [6]),
        ("tokyo", [6]),
        ("eki", [6]),
        ("مكتبه", [7]),
        ("bibliotheque", [7]),
        ("republik", [8]),
        ("ra", [8]),
        ("cafe grosse", [10]),
        ("CAFÉ GRÖSSE", [10]),
        ("cafe groesse", [10]),
        ("bahnhff", [3]),
        ("kornbulme", [5]),
        ("xyzzy", []),
        ("", []),
        ("!!!", []),
    ],
)
def test_search(village: TextIndex, text: str, ids: list[int]) -> None:
    assert find(village, text) == ids


def test_a_typo_counts_only_where_nothing_else_is_found(village: TextIndex) -> None:
    assert find(village, "linde") == [4]
    assert find(village, "lindw") == [4]
    assert find(village, "9999") == []


def test_very_long_texts_find_nothing(village: TextIndex) -> None:
    assert find(village, "Aldorf " * 2_000) == []


def test_all_searchable_elements_are_in_the_index(opened: tuple[Store, TextIndex]) -> None:
    store, _ = opened
    rows = find_searchable_rows(store)
    expected = [
        row
        for row in range(store.row_count)
        if (tags := store.tags(row))
        and (any(iter_names(tags)) or any(key in tags for key in OTHER_KEYS))
    ]
    assert rows.tolist() == expected


@pytest.mark.parametrize("text", ["monaco", "rue", "casino", "avenue princ", "carrefour", "de la"])
def test_every_element_that_holds_the_words_is_found(
    opened: tuple[Store, TextIndex], text: str
) -> None:
    store, index = opened
    expected = set()
    words = slots(text)
    for row in find_searchable_rows(store).tolist():
        tags = store.tags(row)
        texts = [name for _, _, name in iter_names(tags)]
        texts += [v for key in OTHER_KEYS if key in tags for v in split_values(tags[key])]
        found = {term for name in texts for term in terms(name)}
        if all(
            any(found.issuperset(a) for a in word.alternatives)
            or (len(word.word) > 1 and any(term.startswith(word.word) for term in found))
            for word in words
        ):
            expected.add(int(store.eids(np.array([row]))[0]))
    page = search_names(index, text, 5_000)
    assert page.next_place is None
    assert set(page.eids) == expected
    # Relevance first, then (osm_id, type).
    assert list(zip(page.tiers, page.eids, strict=True)) == sorted(
        zip(page.tiers, page.eids, strict=True)
    )


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_are_the_whole_without_doubles(opened: tuple[Store, TextIndex], limit: int) -> None:
    _, index = opened
    whole = search_names(index, "monaco", 5_000).eids
    if limit == 1:
        whole = whole[:40]
    by_place: list[int] = []
    after = None
    while len(by_place) < len(whole):
        page = search_names(index, "monaco", limit, after=after)
        by_place += page.eids
        after = page.next_place
        if after is None:
            break
    assert by_place == whole
    by_offset: list[int] = []
    while len(by_offset) < len(whole):
        by_offset += search_names(index, "monaco", limit, offset=len(by_offset)).eids
    assert by_offset == whole


def test_filter_on_rows(opened: tuple[Store, TextIndex]) -> None:
    store, index = opened
    whole = search_names(index, "monaco", 5_000).eids
    amenity = store.rows_with_key("amenity")
    kept = search_names(
        index, "monaco", 5_000, keep=Filter(store, lambda rows: np.isin(rows, amenity))
    ).eids
    assert kept
    assert kept == [eid for eid in whole if store.find_eid_rows([eid])[0] in set(amenity.tolist())]
    paged: list[int] = []
    after = None
    while True:
        page = search_names(
            index, "monaco", 3, after=after, keep=Filter(store, lambda rows: np.isin(rows, amenity))
        )
        paged += page.eids
        after = page.next_place
        if after is None:
            break
    assert paged == kept


@pytest.mark.parametrize(
    "tags", ["", "highway=*", "amenity=restaurant", "amenity!=cafe", "no=such"]
)
@pytest.mark.parametrize("box", [None, (7.415, 43.728, 7.423, 43.733), (7.40, 43.71, 7.45, 43.76)])
def test_a_narrowed_index_finds_what_a_filter_lets_through(
    opened: tuple[Store, TextIndex],
    monkeypatch: pytest.MonkeyPatch,
    tags: str,
    box: tuple[float, float, float, float] | None,
) -> None:
    store, index = opened
    asked: list[int] = []
    numbers = index.numbers

    def count(field: str, values: list[int]) -> object:
        asked.append(len(values))
        return numbers(field, values)

    monkeypatch.setattr(search, "_BATCH", 4)
    monkeypatch.setattr(search, "_CHEAPER", 10_000)
    monkeypatch.setattr(index, "numbers", count)
    query = queries.FeatureQuery(
        queries.ALL_TYPES,
        parse_tag_filters((), [tags] if tags else [], lambda key: True, "tags"),
        BoxRegion(Bbox(*box)) if box else None,
    )

    def find(text: str, scanned: int, limit: int) -> list[int]:
        monkeypatch.setattr(search, "_SCANNED", scanned)
        keep = Filter(
            store,
            lambda rows: queries.test_rows(store, query, rows),
            lambda: queries.find_candidates(store, query, no_deadline(), 20_000),
        )
        found: list[int] = []
        after = None
        while True:
            page = search_names(index, text, limit, after=after, keep=keep)
            found += page.eids
            after = page.next_place
            if after is None:
                return found

    for text in ("a", "rue", "ru", "monaco", "caffe", "jardin exotique"):
        plain = find(text, 2**62, 5_000)
        assert find(text, 4, 5_000) == plain
        assert find(text, 1, 3) == plain
    assert bool(asked) == (bool(tags) or box is not None)


def test_names_by_place_are_those_of_the_index(
    opened: tuple[Store, TextIndex], placed: PlacedNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, index = opened
    random = np.random.default_rng(4)
    texts = [
        "monaco", "Monaco", "rue", "ru", "av princ", "casino", "louis ii", "de la", "saint", "st",
        "carrefour", "bd", "musée océanographique", "7", "12", "jardin exotique", "caffe", "xyzzy",
        "place d'armes", "mc", "c a m",
    ]  # fmt: skip
    west, south, east, north = store.info["bbox"]
    sizes: list[int] = []
    monkeypatch.setattr(search, "_BATCH", 4)
    monkeypatch.setattr(search, "_SCANNED", 4)
    for number in range(300):
        x, y = random.uniform(west, east), random.uniform(south, north)
        size = float(random.choice([0.0, 0.002, 0.02, 0.2]))
        box = Bbox(x, y, x + size, y + size)
        tags = ("", "highway=*", "amenity!=cafe")[number % 3]
        query = queries.FeatureQuery(
            queries.ALL_TYPES,
            parse_tag_filters((), [tags] if tags else [], lambda key: True, "tags"),
            BoxRegion(box),
        )
        keep = Filter(store, partial(queries.test_rows, store, query))
        boxes = [to_units(part) for part in box.split()]
        refused = [None] * (number % 3)  # so often the records are too many

        def read(_: int, boxes: list[Box] = boxes, refused: list[None] = refused) -> Records | None:
            return refused.pop() if refused else placed.find(boxes, 1 << 40)

        by_place = keep._replace(find_records=read)
        text = texts[number % len(texts)]
        for limit in (3, 100):
            after = None
            while True:
                page = search_names(index, text, limit, after=after, keep=by_place)
                assert page == search_names(index, text, limit, after=after, keep=keep)
                sizes.append(len(page.eids))
                after = page.next_place
                if after is None:
                    break
        skipped = search_names(index, text, 5, offset=2, keep=by_place)
        assert skipped == search_names(index, text, 5, offset=2, keep=keep)
    assert max(sizes) == 100
    assert sizes.count(0) < 0.6 * len(sizes)
