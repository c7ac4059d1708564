from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.geocoding.search import postings as postings_module
from mapyard.geocoding.search.postings import Postings, PostingsWriter
from mapyard.store import sorting
from mapyard.store.derive import UNLIMITED

NAMES = ("landstrasse", "landweg", "städtle", "rathaus", "landstrasse rathaus", "練馬区", "weg")


def write(folder: Path, names: tuple[str, ...] = NAMES, memory_bytes: int = UNLIMITED) -> Postings:
    writer = PostingsWriter(folder, memory_bytes)
    for document, name in enumerate(names):
        writer.add(document, (("name", dict.fromkeys(name.split())), ("context", ["vaduz"])))
    writer.close()
    return Postings(folder)


@pytest.fixture
def postings(tmp_path: Path) -> Postings:
    return write(tmp_path / "postings")


def terms_of(postings: Postings, numbers: list[int]) -> list[str]:
    return [postings.vocabulary[number] for number in numbers]


def test_a_term_is_found_in_its_field_only(postings: Postings) -> None:
    assert postings.of_all("name", ("landstrasse",)).tolist() == [0, 4]
    assert postings.of_all("context", ("landstrasse",)).tolist() == []
    assert postings.frequency("context", "vaduz") == len(NAMES)
    assert postings.frequency("name", "vaduz") == 0
    assert postings.frequency("name", "nirgends") == 0


def test_several_terms_have_to_be_there_all(postings: Postings) -> None:
    assert postings.of_all("name", ("rathaus", "landstrasse")).tolist() == [4]
    assert postings.of_all("name", ("rathaus", "weg")).tolist() == []
    assert postings.of_all("name", ("rathaus", "nirgends")).tolist() == []


@pytest.mark.parametrize(("minimum", "found"), [(1, [0, 1, 3, 4]), (2, [4]), (3, []), (4, [])])
def test_most_of_some_terms(postings: Postings, minimum: int, found: list[int]) -> None:
    terms = ("landstrasse", "rathaus", "landweg", "nirgends")
    assert postings.of_most("name", terms, minimum).tolist() == found


@pytest.mark.parametrize(
    ("prefix", "terms"),
    [
        ("land", ["landstrasse", "landweg"]),
        ("landw", ["landweg"]),
        ("st", ["städtle"]),
        ("練", ["練馬区"]),
        ("x", []),
        ("", ["landstrasse", "landweg", "rathaus", "städtle", "vaduz", "weg", "練馬区"]),
    ],
)
def test_terms_with_a_beginning_are_a_range(
    postings: Postings, prefix: str, terms: list[str]
) -> None:
    first, stop = postings.vocabulary.span(prefix)
    assert terms_of(postings, list(range(first, stop))) == terms
    in_names = [term for term in terms if term != "vaduz"]
    assert terms_of(postings, postings.complete("name", prefix, 99)) == in_names
    assert postings.count("name", first, stop) == len(postings.of("name", first, stop))


@pytest.mark.parametrize(
    ("word", "distance", "prefix", "terms"),
    [
        ("landweg", 1, False, ["landweg"]),
        ("ladnweg", 1, False, ["landweg"]),
        ("lanstrase", 2, False, ["landstrasse"]),
        ("lanstrase", 1, False, []),
        ("lant", 1, True, ["landstrasse", "landweg"]),
        ("stadtle", 1, False, ["städtle"]),
    ],
)
def test_terms_within_a_distance(
    postings: Postings, word: str, distance: int, prefix: bool, terms: list[str]
) -> None:
    near = postings.vocabulary.near(word, distance, prefix)
    assert terms_of(postings, near.tolist()) == terms
    runs = postings.runs("name", near)
    assert len(runs) == len(terms)


def test_what_did_not_change_is_taken_over(postings: Postings, tmp_path: Path) -> None:
    writer = PostingsWriter(tmp_path / "updated")
    # The second is gone, the third has another name, the others have new numbers.
    writer.take_over(postings, np.array([0, -1, -1, 1, 3, 4, 5]))
    writer.add(2, (("name", ["aeulestrasse"]), ("context", ["vaduz"])))
    writer.close()
    anew = write(
        tmp_path / "anew",
        ("landstrasse", "rathaus", "aeulestrasse", "landstrasse rathaus", "練馬区", "weg"),
    )
    assert len(anew.vocabulary) == 6
    for path in sorted((tmp_path / "anew").glob("*.npy")):
        assert path.read_bytes() == (tmp_path / "updated" / path.name).read_bytes(), path.name


def test_however_little_memory_sorting_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(f"haus {i % 13} am {i % 101} weg {i}" for i in range(2_000))
    write(tmp_path / "free", names)
    monkeypatch.setattr(sorting, "_LEAST_KEYS", 100)
    monkeypatch.setattr(postings_module, "_SPOOLED_AT_ONCE", 70)
    write(tmp_path / "bound", names, memory_bytes=1)
    files = sorted(path.name for path in (tmp_path / "free").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "bound").iterdir())
    for path in (tmp_path / "free").glob("*.npy"):
        assert path.read_bytes() == (tmp_path / "bound" / path.name).read_bytes(), path.name


def test_no_documents_at_all(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty", ())
    assert empty.frequency("name", "weg") == 0
    assert empty.of_all("name", ("weg",)).tolist() == []
    assert empty.vocabulary.near("landweg", 1, False).tolist() == []
    assert empty.complete("name", "w", 5) == []


def test_spliced_postings_are_those_that_are_written_anew(tmp_path: Path) -> None:
    """Some documents go, some come in between, terms appear and vanish; over several rounds."""
    random = np.random.default_rng(5)
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join(random.choice(words, 3)) for _ in range(60)]
    before = write(tmp_path / "0", tuple(texts))
    for step in range(1, 6):
        kept = np.flatnonzero(random.random(len(texts)) < 0.8)
        added = [f"{random.choice(words)} new{step}" for _ in range(7)]
        count = len(kept) + len(added)
        places = np.sort(random.choice(count, len(kept), replace=False))
        now = dict(zip(places.tolist(), (texts[at] for at in kept.tolist()), strict=True))
        fresh = [at for at in range(count) if at not in now]
        now |= dict(zip(fresh, added, strict=True))
        documents = np.full(len(texts), -1, np.int64)
        documents[kept] = places
        texts = [now[at] for at in range(count)]
        writer = PostingsWriter(tmp_path / str(step))
        writer.take_over(before, documents)
        for at in fresh:
            writer.add(at, (("name", dict.fromkeys(texts[at].split())), ("context", ["vaduz"])))
        assert writer.close() == []
        before = Postings(tmp_path / str(step))
        anew = write(tmp_path / f"anew{step}", tuple(texts)).folder
        for path in anew.glob("*.npy"):
            assert path.read_bytes() == (before.folder / path.name).read_bytes(), path.name
        assert before.vocabulary.near("new", 1, False).tolist() == [
            number for number, term in enumerate(before.terms()) if term.startswith("new")
        ]


def test_the_same_terms_are_the_same_files(tmp_path: Path) -> None:
    before = write(tmp_path / "before")
    writer = PostingsWriter(tmp_path / "after")
    writer.take_over(before, np.r_[-1, np.arange(1, len(NAMES))])
    writer.add(0, (("name", NAMES[0].split()), ("context", ["vaduz"])))
    linked = writer.close()
    assert {"term_bytes.npy", "term_offsets.npy"} < {path.name for path in linked}
    for path in linked:
        assert path.samefile(before.folder / path.relative_to(tmp_path / "after"))
    again = Postings(tmp_path / "after")
    assert again.terms() == before.terms()
    assert again.vocabulary.near("landweh", 1, False).tolist() == [again.vocabulary.find("landweg")]


def test_documents_in_another_order_are_not_taken_over(tmp_path: Path) -> None:
    writer = PostingsWriter(tmp_path / "after")
    with pytest.raises(ValueError, match="another order"):
        writer.take_over(write(tmp_path / "before"), np.array([1, 0, -1, 2, 3, 4, 5]))
    writer.close()


def test_damaged_postings_are_told(tmp_path: Path) -> None:
    before = write(tmp_path / "before")
    with pytest.raises(IndexError, match="damaged"):
        before.count_kept("name", np.zeros(2, np.int32))
    runs, keys = np.arange(len(before.vocabulary)), np.empty(0, np.int64)
    with pytest.raises(IndexError, match="damaged"):
        list(before.splice("name", np.zeros(2, np.int32), runs, keys))
