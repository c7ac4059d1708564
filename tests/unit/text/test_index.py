from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.text.index import IndexWriter, TextIndex


def add(writer: IndexWriter, number: int, word: str) -> None:
    writer.add((("name", [word]),), (), (("eid", number),))


def numbers_of(index: TextIndex, word: str) -> list[int]:
    return index.search_ordered(index.term("name", word), "eid", 100)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    writer = IndexWriter(tmp_path / "base")
    for number in range(6):
        add(writer, number, "weg")
    writer.close()
    return tmp_path / "base"


def patch(base: Path, folder: Path, deleted: list[int], added: list[int]) -> TextIndex:
    writer = IndexWriter(folder, base)
    writer.delete("eid", deleted)
    for number in added:
        add(writer, number, "weg")
    writer.close()
    return TextIndex(folder)


def test_a_missing_index_is_a_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TextIndex(tmp_path / "nothing")


def test_a_patched_index_holds_what_is_there(base: Path, tmp_path: Path) -> None:
    index = patch(base, tmp_path / "one", [1, 2], [2, 7])
    assert numbers_of(index, "weg") == [0, 2, 3, 4, 5, 7]
    assert index.count(index.term("name", "weg")) == 6
    assert numbers_of(TextIndex(base), "weg") == [0, 1, 2, 3, 4, 5]
    gone = patch(base, tmp_path / "none", list(range(6)), [9])
    assert numbers_of(gone, "weg") == [9]


def test_fresh_documents_are_written_again_by_each_patch(base: Path, tmp_path: Path) -> None:
    patch(base, tmp_path / "one", [1], [7, 8])
    index = patch(tmp_path / "one", tmp_path / "two", [0], [8, 9])
    assert numbers_of(index, "weg") == [2, 3, 4, 5, 8, 9]
    names = {path.stem for path in (tmp_path / "two").iterdir() if path.suffix == ".term"}
    assert len(names) == 2
