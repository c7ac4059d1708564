"""Updates end to end: real daily diffs over loopback, and diffs that are wrong."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import osmium
import pytest

from killed import kill_while_building
from mapyard.builder.pipeline import STORE_STEP, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.cli.status import command as show_status
from mapyard.dataset.catalog import Busy, Catalog
from mapyard.dataset.manifest import verify_files
from mapyard.errors import MapyardError
from mapyard.osm import waiting
from mapyard.osm.source import is_sorted
from mapyard.osm.waiting import write_whole
from mapyard.settings import Settings
from mapyard.store.reader import Store, open_store
from mapyard.store.tag_history import TagHistory
from mapyard.updates import run as updates
from mapyard.updates.history import Run, read_runs
from mapyard.updates.run import NoSource, update_dataset
from mapyard.updates.source import BadDiff, SourceUnreachable, sequence_path
from osm_files import EXAMPLES, TEST_DATA, write_osm
from stores import find_differences

OLD = TEST_DATA / "monaco-2025-11-08.osm.pbf"
DIFFS = TEST_DATA / "monaco-updates"
Serve = Callable[[Path], str]


def build(data: Path, source: Path) -> None:
    build_dataset([source], data, [STORE_STEP], Reporter(quiet=True))


def update(data: Path, url: str = "", **settings: object) -> list[Run]:
    return update_dataset(
        data,
        [],
        Reporter(quiet=True),
        Settings(data=data, **settings),
        url,  # type: ignore[arg-type]
    )


def store_of(data: Path) -> Store:
    return open_store(data / "current" / "elements")


@pytest.fixture
def old_data(tmp_path: Path) -> Path:
    build(tmp_path / "data", OLD)
    return tmp_path / "data"


def test_all_diffs_lead_to_what_the_newer_extract_gives(
    tmp_path: Path, old_data: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates, "MAX_DIFFS", 6)
    before = Catalog(old_data).find_current()
    runs = update(old_data, serve_folder(DIFFS), keep_datasets=2)
    assert [(r.outcome, r.from_sequence, r.to_sequence) for r in runs] == [
        ("updated", 4597, 4603), ("updated", 4603, 4609), ("updated", 4609, 4612),
    ]  # fmt: skip
    build(tmp_path / "fresh", EXAMPLES / "monaco.osm.pbf")
    assert find_differences(store_of(old_data), store_of(tmp_path / "fresh")) == []
    catalog = Catalog(old_data)
    manifest = catalog.manifest("current")
    assert manifest.osm_timestamp == "2026-04-06T20:21:15Z"
    assert manifest.replication.sequence == 4612
    assert verify_files(catalog.path("current"), manifest) == []
    assert len(catalog.ids()) == 2
    assert before not in catalog.ids()
    report = json.loads((catalog.path("current") / "report.json").read_text())
    stages = [stage["name"] for stage in report["stages"]]
    assert stages.count("update: source") == 1  # of the last of three rounds
    # Nothing is built out of the source here, so changes wait beside it.
    assert not (old_data / "current" / "source.osm.pbf").exists()
    source = tmp_path / "whole.osm.pbf"
    write_whole(old_data / "current", source)
    assert is_sorted(source)
    assert read_all(source) == read_all(EXAMPLES / "monaco.osm.pbf")
    assert update(old_data)[0].outcome == "current"
    assert not list((old_data / "updates" / "diffs").rglob("*.osc.gz"))


def test_counts_of_tags_on_earlier_days(
    old_data: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the history says of a day is what the dataset of that day counts."""
    monkeypatch.setattr(updates, "MAX_DIFFS", 6)
    update(old_data, serve_folder(DIFFS), keep_datasets=10)
    catalog = Catalog(old_data)
    newest = catalog.path("current")
    history = TagHistory(newest, catalog.manifest("current").osm_timestamp)
    assert history.since == "2025-11-08"
    now = count_all(store_of(old_data))
    folders = sorted(catalog.ids(), key=lambda name: catalog.manifest(name).osm_timestamp)
    assert len(folders) == 4
    changed = 0
    for name in folders:
        day = catalog.manifest(name).osm_timestamp[:10]
        then = count_all(open_store(catalog.path(name) / "elements"))
        for key, value in then.keys() | now.keys():
            known = history.counts(key, value, now[key, value])
            assert [count for date, count in known if date <= day][-1] == then[key, value], key
            changed += len(known) > 2
    assert changed > 500


def count_all(store: Store) -> Counter[tuple[str, str | None]]:
    counts: Counter[tuple[str, str | None]] = Counter()
    for key in store.keys:
        counts[key, None] = store.key_count(key)
        start, stop = store.kv_range(key)
        values = store.values(np.arange(start, stop))
        for value, count in zip(values, store.kv_counts(start, stop).tolist(), strict=True):
            counts[key, value] = count
    return counts


def read_all(path: Path) -> list[tuple[object, ...]]:
    return [
        (str(o), o.version, o.changeset, o.timestamp, dict(o.tags))
        for o in osmium.FileProcessor(str(path))
    ]


def test_changed_tiles_cover_what_changed_and_little_else(
    old_data: Path, serve_folder: Serve
) -> None:
    update(old_data, serve_folder(DIFFS))
    lines = (old_data / "current" / "changed_tiles.txt").read_text().split()
    assert "0/0/0" in lines
    assert lines == sorted(lines, key=lambda line: tuple(map(int, line.split("/"))))
    deep = [line for line in lines if line.startswith("14/")]
    assert 5 < len(deep) < 2000


def write_diff(folder: Path, sequence: int, content: str, stamp: str = "2030-01-01") -> None:
    path = folder / f"{sequence_path(sequence)}.osc.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(f'<osmChange version="0.6">{content}</osmChange>'.encode()))
    state = f"timestamp={stamp}T00\\:00\\:00Z\nsequenceNumber={sequence}\n"
    (folder / f"{sequence_path(sequence)}.state.txt").write_text(state)
    (folder / "state.txt").write_text(state)


def node(osm_id: int, version: int, lon: float = 7.42, tags: str = "") -> str:
    return (
        f'<node id="{osm_id}" version="{version}" timestamp="2029-01-01T00:00:00Z" changeset="1" '
        f'lat="43.73" lon="{lon}">{tags}</node>'
    )


NAMED = '<tag k="name" v="new"/>'


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A tiny dataset at sequence 10, and its source folder beside it."""
    xml = tmp_path / "small.osm"
    write_osm(
        xml,
        {1: (7.42, 43.73), 2: (7.43, 43.73), 3: (7.44, 43.73, {"name": "x"})},
        {5: ([1, 2], {"highway": "path"})},
        {7: ([("way", 5, "")], {"type": "route"})},
        attributes=' version="3" timestamp="2024-01-01T00:00:00Z" changeset="1"',
    )
    header = osmium.io.Header()
    header.set("osmosis_replication_sequence_number", "10")
    header.set("osmosis_replication_timestamp", "2024-01-01T00:00:00Z")
    header.set("sorting", "Type_then_ID")
    pbf = tmp_path / "small.osm.pbf"
    with osmium.SimpleWriter(str(pbf), header=header) as writer:
        for item in osmium.FileProcessor(str(xml)):
            writer.add(item)
    build(tmp_path / "data", pbf)
    (tmp_path / "source").mkdir()
    return tmp_path


def apply_one(folder: Path, serve_folder: Serve, content: str) -> Store:
    write_diff(folder / "source", 11, content)
    runs = update(folder / "data", serve_folder(folder / "source"))
    assert runs[0].outcome == "updated"
    return store_of(folder / "data")


def test_a_moved_node_moves_its_way_and_relation(small: Path, serve_folder: Serve) -> None:
    store = apply_one(small, serve_folder, f"<modify>{node(2, 4, 7.5)}</modify>")
    way, relation = store.find_row(1, 5), store.find_row(2, 7)
    for shape in store.geometries(np.array([way, relation])):
        assert shape.bounds[2] == 7.5


def test_deleting_a_node_that_a_way_still_uses_taints_the_way(
    small: Path, serve_folder: Serve
) -> None:
    store = apply_one(small, serve_folder, f"<delete>{node(2, 4)}</delete>")
    way = store.find_row(1, 5)
    assert store.find_row(0, 2) == -1
    assert store.is_tainted(np.array([way]))[0]
    assert store.node_ids(store.way_nodes(np.array([way])).values).tolist() == [1, 2]


def test_a_recreated_node_heals_the_way(small: Path, serve_folder: Serve) -> None:
    content = f"<delete>{node(2, 4)}</delete><create>{node(2, 5, 7.45)}</create>"
    store = apply_one(small, serve_folder, content)
    way = store.find_row(1, 5)
    assert not store.is_tainted(np.array([way]))[0]
    assert store.geometries(np.array([way]))[0].bounds[2] == 7.45


def test_older_and_repeated_changes_change_nothing(small: Path, serve_folder: Serve) -> None:
    content = (
        f"<modify>{node(3, 2, 7.99, NAMED)}</modify><delete>{node(1, 2)}</delete>"
        f"<modify>{node(3, 5, 7.41, NAMED)}</modify><modify>{node(3, 4, 7.40)}</modify>"
        f"<delete>{node(999, 1)}</delete>"
    )
    store = apply_one(small, serve_folder, content)
    row = store.find_row(0, 3)
    assert (store.lon[row], store.tags(row)) == (74_100_000, {"name": "new"})
    assert store.find_row(0, 1) >= 0
    write_diff(small / "source", 12, content)
    update(small / "data", serve_folder(small / "source"))
    assert find_differences(store_of(small / "data"), store) == []


def test_missing_referents_that_arrive_later(small: Path, serve_folder: Serve) -> None:
    way = '<way id="6" version="1"><nd ref="1"/><nd ref="50"/><tag k="highway" v="path"/></way>'
    store = apply_one(small, serve_folder, f"<create>{way}</create>")
    row = store.find_row(1, 6)
    assert store.is_tainted(np.array([row]))[0]
    write_diff(small / "source", 12, f"<create>{node(50, 1, 7.46)}</create>")
    update(small / "data", serve_folder(small / "source"))
    store = store_of(small / "data")
    row = store.find_row(1, 6)
    assert not store.is_tainted(np.array([row]))[0]
    assert store.geometries(np.array([row]))[0].bounds[2] == 7.46
    assert store.info["missing_nodes"] == 0


def test_a_source_that_covers_more_is_clipped(small: Path, serve_folder: Serve) -> None:
    far = node(60, 1, 7.4205), node(61, 1, 99.0), node(62, 1, 7.9), node(63, 1, 7.95)
    ways = (
        '<way id="8" version="1"><nd ref="60"/><nd ref="62"/></way>'
        '<way id="9" version="1"><nd ref="61"/><nd ref="63"/></way>'
    )
    write_diff(small / "source", 11, f"<create>{''.join(far)}{ways}</create>")
    update(small / "data", serve_folder(small / "source"), update_clip=True)
    store = store_of(small / "data")
    assert [store.find_row(0, i) >= 0 for i in (60, 61, 62, 63)] == [True, False, True, False]
    assert [store.find_row(1, i) >= 0 for i in (8, 9)] == [True, False]


def unchanged_after(folder: Path, url: str, error: type[Exception], match: str) -> None:
    before = Catalog(folder / "data").find_current()
    with pytest.raises(error, match=match):
        update(folder / "data", url)
    assert Catalog(folder / "data").find_current() == before
    assert len(list((folder / "data" / "datasets").iterdir())) == 1
    last = read_runs(folder / "data")[-1]
    assert last.outcome in ("failed", "unreachable")
    assert last.message


def test_a_truncated_diff_is_refused_and_the_next_run_goes_on(
    small: Path, serve_folder: Serve
) -> None:
    url = serve_folder(small / "source")
    write_diff(small / "source", 11, f"<modify>{node(3, 4)}</modify>")
    path = small / "source" / f"{sequence_path(11)}.osc.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    unchanged_after(small, url, BadDiff, "cut off")
    path.write_bytes(gzip.compress(b"<osmChange><modify><node id='1'"))
    unchanged_after(small, url, BadDiff, "cut off")
    path.write_bytes(whole)
    assert update(small / "data", url)[0].outcome == "updated"


def test_diffs_that_are_no_diffs(small: Path, serve_folder: Serve) -> None:
    url = serve_folder(small / "source")
    write_diff(small / "source", 11, "<modify><node id='x'/></modify>")
    unchanged_after(small, url, BadDiff, "is not a diff")


def test_a_source_that_is_gone_is_named(small: Path, serve_folder: Serve) -> None:
    url = serve_folder(small / "source")
    write_diff(small / "source", 11, f"<modify>{node(2, 4, 7.5)}</modify>")
    (small / "data" / "current" / "source.osm.pbf").unlink()
    unchanged_after(small, url, MapyardError, r"has no source\.osm\.pbf; build it again with")


def test_the_status_says_that_changes_wait(
    small: Path,
    serve_folder: Serve,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask() -> bool:
        capsys.readouterr()
        show_status(small / "data", as_json=True)
        waits: bool = json.loads(capsys.readouterr().out)["changes_wait"]
        return waits

    monkeypatch.setattr(waiting, "_MOST_WAITING", 100.0)  # of a source of four elements
    assert not ask()
    show_status(small / "data")
    assert "changes wait" not in capsys.readouterr().out
    apply_one(small, serve_folder, f"<modify>{node(2, 4, 7.5)}</modify>")
    assert ask()
    show_status(small / "data")
    assert "changes wait beside the extract" in capsys.readouterr().out


def test_gaps_and_foreign_sources_are_refused(small: Path, serve_folder: Serve) -> None:
    url = serve_folder(small / "source")
    write_diff(small / "source", 12, "")
    unchanged_after(small, url, BadDiff, r"000/000/011\.osc\.gz does not exist")
    write_diff(small / "source", 9, "")
    unchanged_after(small, url, BadDiff, "another source")
    (small / "source" / "state.txt").write_text("hello")
    unchanged_after(small, url, BadDiff, "not a replication state")
    unchanged_after(small, "http://127.0.0.1:9", SourceUnreachable, "cannot be reached")
    unchanged_after(small, "", NoSource, "does not name a replication source")


def build_without_sequence(folder: Path) -> None:
    """A dataset that knows its time, 2024-06-15, but no sequence number."""
    stamp = ' version="1" timestamp="2024-06-15T00:00:00Z" changeset="1"'
    build(folder / "data", write_osm(folder / "x.osm", {3: (7.4, 43.7)}, attributes=stamp))
    (folder / "source").mkdir()


def test_a_dataset_without_a_sequence_finds_its_place_by_time(
    tmp_path: Path, serve_folder: Serve
) -> None:
    build_without_sequence(tmp_path)
    for number in range(1, 10):
        content = f"<modify>{node(3, number + 1, 7.4 + number / 100)}</modify>"
        write_diff(tmp_path / "source", number, content, stamp=f"2024-{number:02}-01")
    url = serve_folder(tmp_path / "source")
    runs = update(tmp_path / "data", url)
    assert (runs[0].from_sequence, runs[0].to_sequence) == (6, 9)
    assert store_of(tmp_path / "data").lon[0] == 74_900_000


def test_a_source_that_does_not_reach_back_is_refused(tmp_path: Path, serve_folder: Serve) -> None:
    build_without_sequence(tmp_path)
    for number in range(50, 60):
        write_diff(tmp_path / "source", number, "", stamp=f"2025-01-{number - 40:02}")
    url = serve_folder(tmp_path / "source")
    unchanged_after(tmp_path, url, BadDiff, "does not reach back to the data's time")


def test_one_update_at_a_time(small: Path) -> None:
    with Catalog(small / "data").lock(), pytest.raises(Busy):
        update(small / "data", "http://127.0.0.1:9")


def test_kill_at_any_moment_then_finish(
    tmp_path: Path, old_data: Path, serve_folder: Serve
) -> None:
    url = serve_folder(DIFFS)
    program = ["-m", "mapyard", "update", "--data", str(old_data), "--source", url]
    interrupted = 0
    for after_s in (0.0, 0.05, 0.1, 0.2, 0.4, 0.8):
        interrupted += kill_while_building(program, old_data, after_s)
        catalog = Catalog(old_data)
        assert verify_files(catalog.path("current"), catalog.manifest("current")) == []
    assert interrupted
    update(old_data, url)
    build(tmp_path / "fresh", EXAMPLES / "monaco.osm.pbf")
    assert find_differences(store_of(old_data), store_of(tmp_path / "fresh")) == []
    left = [p.name for p in (old_data / "datasets").iterdir() if p.name.startswith(".")]
    assert left == []
    shutil.rmtree(old_data)


def test_a_login_is_used_and_kept_from_everyone(tmp_path: Path, serve_folder: Serve) -> None:
    build(tmp_path, OLD)
    url = serve_folder(DIFFS).replace("http://", "http://ann:s3cret@")
    update_dataset(tmp_path, [], Reporter(quiet=True), Settings(data=tmp_path), url)
    kept = tmp_path / "updates" / "source"
    assert kept.read_text().strip() == url
    assert kept.stat().st_mode & 0o077 == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != kept]
    assert [path for path in files if b"s3cret" in path.read_bytes()] == []
    assert Catalog(tmp_path).manifest("current").replication.url == url.replace("ann:s3cret@", "")


def test_a_folder_is_a_source_too(
    tmp_path: Path, old_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DIFFS.parent)
    runs = update(old_data, DIFFS.name)
    assert [(r.outcome, r.to_sequence) for r in runs] == [("updated", 4612)]
    monkeypatch.chdir(tmp_path)
    assert [run.outcome for run in update(old_data)] == ["current"]  # it is kept, whole
    build(tmp_path / "fresh", EXAMPLES / "monaco.osm.pbf")
    assert find_differences(store_of(old_data), store_of(tmp_path / "fresh")) == []
    with pytest.raises(SourceUnreachable, match="neither an address"):
        update(old_data, "download.example.org/monaco-updates")
