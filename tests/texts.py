"""Comparing the text parts of two datasets: tables, what the index holds, and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mapyard.builder.pipeline import STORE_STEP, StepContext
from mapyard.builder.progress import Reporter
from mapyard.builder.text import STEP as TEXT_STEP
from mapyard.features.by_place import PlacedNames
from mapyard.features.query import FeatureQuery, test_rows
from mapyard.features.regions import BoxRegion
from mapyard.features.search import Filter, search_names
from mapyard.geo.bbox import Bbox
from mapyard.geocoding.geocoder import Geocoder, open_geocoder
from mapyard.osm.source import prepare_source
from mapyard.settings import Settings
from mapyard.store.columns import Heap, open_column
from mapyard.store.patching.patch import Patched, patch_store
from mapyard.store.reader import Store, open_store, to_units
from mapyard.text.index import KEY_FIELDS, TERM_FIELDS, TextIndex
from mapyard.updates.changes import read_changes

_ALL = 10_000_000


def find_text_differences(one: Path, other: Path) -> list[str]:
    """Return what differs between the text parts of two dataset folders, [] when nothing does."""
    return [*compare_tables(one, other), *compare_indexes(one, other)]


def compare_tables(one: Path, other: Path) -> list[str]:
    """Return the names of the columns of tables and postings that differ."""
    return [
        f"{part}/{name}"
        for part in ("documents", "postings")
        for name in sorted(
            {
                path.name
                for folder in (one, other)
                for path in (folder / "text" / part).glob("*.npy")
            }
        )
        if _read(one, part, name) != _read(other, part, name)
    ]


def _read(dataset: Path, part: str, name: str) -> bytes:
    path = dataset / "text" / part / name
    return path.read_bytes() if path.exists() else b""


def compare_indexes(one: Path, other: Path) -> list[str]:
    """Return what differs in the documents of two indexes, by field and term."""
    ours, theirs = (
        {**dict(_dump_index(folder)), **_dump_placed(folder)} for folder in (one, other)
    )
    return [
        f"{' '.join(key)}: {str(ours.get(key))[:60]} {str(theirs.get(key))[:60]}"
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    ]


def _dump_index(dataset: Path) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Yield (field, term) and the eids that have it; then all eids."""
    index = TextIndex(dataset / "text" / "index")
    everything = index.search_ordered(index.number_range("eid", 0, 2**62), "eid", _ALL)
    assert len(np.unique(everything)) == len(everything)
    yield ("eid", ""), everything
    for field in (*TERM_FIELDS, *KEY_FIELDS):
        for term in list_terms(index, field) if field != "fresh" else ():
            found = index.search_ordered(index.term(field, term), "eid", _ALL)
            if found:
                yield (field, term), found


def _dump_placed(dataset: Path) -> dict[tuple[str, str], bytes]:
    """Return the records of names by place that hold, by eid."""
    folder = dataset / "text" / "placed"
    dropped = set(open_column(folder, "dropped").tolist())
    found: dict[tuple[str, str], bytes] = {}
    for part in (folder, folder / "fresh"):
        if part.is_dir():
            eids, records = open_column(part, "eids").tolist(), Heap(part, "records")
            for place, eid in enumerate(eids):
                if part == folder and eid in dropped:
                    continue
                assert ("placed", str(eid)) not in found
                found["placed", str(eid)] = b"".join(sorted(records[place].split(b"\xf8")))
    return found


def list_terms(index: TextIndex, field: str) -> list[str]:
    """Return all terms of a field, those of deleted documents too."""
    searcher: Any = index._searcher
    return [term for term, _ in searcher.terms_with_prefix(field, "", limit=_ALL)]


# ---- answers ----------------------------------------------------------------------------------


def compare_answers(one: Path, other: Path, count: int, seed: int = 1) -> list[str]:
    """Return the questions that two datasets answer differently, of `count` of each kind."""
    pairs = [_Asked(folder) for folder in (one, other)]
    random = np.random.default_rng(seed)
    wrong = []
    for question in _make_questions(pairs[0], count, random):
        answers = [asked.answer(question) for asked in pairs]
        if answers[0] != answers[1]:
            wrong.append(str(question))
    return wrong


class _Asked:
    def __init__(self, dataset: Path) -> None:
        self.store: Store = open_store(dataset / "elements")
        self.geocoder: Geocoder = open_geocoder(dataset / "text", self.store)
        self.index = TextIndex(dataset / "text" / "index")
        self.placed = PlacedNames(dataset / "text" / "placed")

    def answer(self, question: tuple[Any, ...]) -> Any:
        kind, *rest = question
        if kind == "search":
            return search_names(self.index, rest[0], 20)
        if kind == "search in a box":
            return self.search_box(*rest)
        if kind == "reverse":
            lon, lat, limit = rest
            return self.geocoder.reverse(lon, lat, 500.0, limit)
        ask = self.geocoder.forward if kind == "forward" else self.geocoder.autocomplete
        return ask(rest[0], 10)

    def search_box(self, text: str, box: Bbox) -> Any:
        """Search around a box, where answers by index and by place have to be the same."""
        query = FeatureQuery(region=BoxRegion(box))
        keep = Filter(self.store, partial(test_rows, self.store, query))
        by_place = keep._replace(find_records=lambda _: self.placed.find([to_units(box)], 1 << 40))
        found = search_names(self.index, text, 20, keep=by_place)
        assert found == search_names(self.index, text, 20, keep=keep)
        return found


def _make_questions(asked: _Asked, count: int, random: Any) -> Iterator[tuple[Any, ...]]:
    """Yield questions: names in full, cut off, misspelled, with numbers; a letter; positions."""
    g = asked.geocoder.gazetteer
    texts = []
    for document in random.integers(0, len(g.kind), count).tolist():
        feature = asked.geocoder.forward(_name(g, document), 1)
        texts.append(feature[0]["properties"]["display_name"] if feature else _name(g, document))
        texts.append(_name(g, document))
    west, south, east, north = asked.store.info["bbox"]
    for text in texts:
        yield "forward", text
        yield "search", text
        x, y = random.uniform(west, east), random.uniform(south, north)
        box = Bbox(x, y, x + random.uniform(0, 0.1), y + random.uniform(0, 0.1))
        yield "search in a box", text[: int(random.integers(2, 9))], box
        cut = int(random.integers(1, max(2, len(text))))
        yield "autocomplete", text[:cut]
        place = int(random.integers(0, len(text)))
        yield "forward", text[:place] + text[place + 1 :]
        yield "forward", f"{text.split(',')[0]} {int(random.integers(1, 60))}"
    for letter in "abcdefghijklmnoprstuvwz123":
        yield "autocomplete", letter
    for word in ("strasse", "street", "rue", "restaurant", "museum", "parking", "bus"):
        yield "forward", word
    for _ in range(count):
        x, y = random.uniform(west, east), random.uniform(south, north)
        yield "reverse", x, y, 1
        yield "reverse", x, y, 8


def _name(gazetteer: Any, document: int) -> str:
    return gazetteer.tags(document).get("name") or gazetteer.label(document) or "x"


# ---- datasets of store and text ---------------------------------------------------------------

Problems = Mapping[str, list[tuple[str, str]]]


def _context(folder: Path) -> StepContext:
    folder.mkdir(parents=True)
    settings = Settings(data=folder)
    return StepContext(folder, folder / "source.osm.pbf", folder, settings, Reporter(quiet=True))


def build_text(folder: Path, source: Path) -> Problems:
    """Build store and text index in a new folder; return the problems of the store."""
    ctx = _context(folder)
    prepare_source([source], ctx.source)
    info = STORE_STEP.run(ctx) or {}
    TEXT_STEP.run(ctx)
    problems: Problems = info["problem_ids"]
    return problems


def update_text(
    before: Path, folder: Path, diff: Path, problems: Problems
) -> tuple[Patched, Mapping[str, Any]]:
    """Apply a diff to the store and text index of a folder, into a new one."""
    ctx = _context(folder)
    changes = read_changes([diff], folder / "changed.osm.pbf")
    ctx.previous = before
    ctx.patched = patch_store(
        before / "elements", folder / "elements", changes.blocks, changes.deleted, dict(problems)
    )
    figures = TEXT_STEP.run(ctx) or {}
    return ctx.patched, figures
