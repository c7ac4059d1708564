"""Results kept between pages, in memory and in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.deadline import no_deadline
from mapyard.overpass.engine import run_text
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write import results
from mapyard.overpass.write.entries import Entries, list_entries
from mapyard.overpass.write.geojson import write_page
from mapyard.overpass.write.results import ResultCache
from mapyard.store.reader import Store

QUERY = (
    "node[shop];out geom(43.7,7.4,43.74,7.43);way[leisure=park];convert x ::=::,::geom=geom();out;"
    "make y a=1;out;way[building];out count;"
)


@pytest.fixture
def entries(monaco_store: Store) -> Entries:
    result = run_text(monaco_store, QUERY)
    return list_entries(monaco_store, result.outs, ["told"], Budget(no_deadline()))


def test_another_worker_reads_the_same_result(
    tmp_path: Path, monaco_store: Store, entries: Entries
) -> None:
    ResultCache(tmp_path).keep("a-1", entries)
    found = ResultCache(tmp_path).find("a-1")
    assert found is not None
    assert write_page(monaco_store, found, 0, len(found)) == write_page(
        monaco_store, entries, 0, len(entries)
    )
    assert found.counts == entries.counts
    assert found.warnings == ["told"]
    assert ResultCache(tmp_path).find("a-2") is None


def test_damaged_files_are_as_if_not_there(tmp_path: Path, entries: Entries) -> None:
    ResultCache(tmp_path).keep("a-1", entries)
    (tmp_path / "overpass" / "a-1").write_bytes(b"\x93garbage")
    assert ResultCache(tmp_path).find("a-1") is None
    assert ResultCache(tmp_path / "a file" / "x").find("a-1") is None


def test_memory_and_files_are_bounded(
    tmp_path: Path, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ResultCache(max_bytes=entries.nbytes * 5)
    for number in range(8):
        cache.keep(f"a-{number}", entries)
    assert [cache.find(f"a-{number}") is not None for number in range(8)] == [False] * 3 + [
        True
    ] * 5
    small = ResultCache(max_bytes=entries.nbytes)
    small.keep("a-1", entries)
    assert small.find("a-1") is None
    shared = ResultCache(tmp_path)
    shared.keep("a-0", entries)
    size = (tmp_path / "overpass" / "a-0").stat().st_size
    monkeypatch.setattr(results, "MAX_FILE_BYTES", 3 * size)
    for number in range(1, 8):
        shared.keep(f"a-{number}", entries)
    assert len(list((tmp_path / "overpass").iterdir())) == 3
