"""Roads that an update leaves as they are: when, how, and what answers say of it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import osmium
import pytest

from mapyard.builder.pipeline import STORE_STEP, Step, StepContext, build_dataset
from mapyard.builder.preflight import Estimate
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import FilePart, Manifest, Part, describe_file, verify_files
from mapyard.http.freshness import render_freshness
from mapyard.osm import waiting
from mapyard.osm.elements import NODE
from mapyard.osm.source import is_sorted
from mapyard.routing.meta import GraphMeta, name_engine
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from mapyard.store.reader import open_store
from mapyard.updates import parts as kept_parts
from mapyard.updates import run as updates
from mapyard.updates.history import Run
from mapyard.updates.parts import choose_kept
from mapyard.updates.run import update_dataset
from osm_files import EXAMPLES, TEST_DATA

OLD = TEST_DATA / "monaco-2025-11-08.osm.pbf"
DIFFS = TEST_DATA / "monaco-updates"
OLD_TIME, NEW_TIME = "2025-11-08T21:20:57Z", "2026-04-06T20:21:15Z"
Serve = Callable[[Path], str]


def write_graph(ctx: StepContext) -> None:
    """Stand in for the road engine."""
    folder = ctx.folder / "routing"
    (folder / "hierarchy").mkdir(parents=True)
    GraphMeta(name_engine(), 1, 0, False).write(folder)
    (folder / "hierarchy" / "auto").write_bytes(str(ctx.header.replication_sequence).encode())


ROADS = Step("routing", write_graph, lambda size: Estimate(0, 0))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    build_dataset([OLD], tmp_path / "data", [STORE_STEP, ROADS], Reporter(quiet=True))
    return tmp_path / "data"


def update(data: Path, url: str, schedule: str, steps: list[Step]) -> list[Run]:
    settings = Settings(data=data, update_routing=schedule, keep_datasets=50)  # type: ignore[arg-type]
    return update_dataset(data, steps, Reporter(quiet=True), settings, url)


@pytest.mark.parametrize(
    ("schedule", "roads", "now", "kept"),
    [
        ("always", "2026-03-01T20:00:00Z", "2026-03-01T20:01:00Z", False),
        ("daily", "2026-03-01T20:00:00Z", "2026-03-01T21:00:00Z", True),
        ("daily", "2026-03-01T20:00:00Z", "2026-03-02T19:58:00Z", False),  # days of a source differ
        ("weekly", "2026-03-01T20:00:00Z", "2026-03-07T20:00:00Z", True),
        ("weekly", "2026-03-01T20:00:00Z", "2026-03-08T19:58:00Z", False),
        ("weekly", "", "2026-03-02T20:00:00Z", False),  # nobody knows how old they are
    ],
)
def test_when_roads_are_due(
    tmp_path: Path, schedule: str, roads: str, now: str, *, kept: bool
) -> None:
    (tmp_path / "routing").mkdir()
    GraphMeta(name_engine(), 1, 0, False).write(tmp_path / "routing")
    files = {"routing/routing.json": describe_file(tmp_path / "routing" / "routing.json")}
    # The dataset itself is newer than its roads where these are known.
    whole = "2026-03-01T20:30:00Z" if roads else ""
    manifest = Manifest("d", "", osm_timestamp=whole, parts={"routing": Part(files, 1, {}, roads)})
    settings = Settings(update_routing=schedule)  # type: ignore[arg-type]
    found = choose_kept([ROADS], tmp_path, manifest, now, settings)
    assert found == (["routing"] if kept else [])


def test_roads_are_built_whatever_the_schedule_where_they_cannot_be_kept(tmp_path: Path) -> None:
    time, settings = "2026-03-01T20:00:00Z", Settings(update_routing="weekly")
    path = tmp_path / "routing" / "routing.json"
    path.parent.mkdir()

    def is_kept(engine: str, parts: dict[str, Part] | None = None) -> bool:
        GraphMeta(engine, 1, 0, False).write(path.parent)
        made = {"routing": Part({"routing/routing.json": describe_file(path)})}
        manifest = Manifest("d", "", osm_timestamp=time, parts=made if parts is None else parts)
        return bool(choose_kept([ROADS], tmp_path, manifest, time, settings))

    assert is_kept(name_engine())
    assert not is_kept("valhalla 0.1")
    assert not is_kept(name_engine(), {})
    assert not is_kept(name_engine(), {"routing": Part({})})  # there were no roads
    assert not is_kept(name_engine(), {"routing": Part({"routing/routing.json": FilePart(1, "")})})
    assert not is_kept(name_engine(), {"routing": Part({"routing/lost": FilePart(1, "")})})
    settings = settings.replace(prepared_profiles=["truck"])
    assert not is_kept(name_engine())  # they were built before the setting was made
    (path.parent / "matrix.json").write_text('{"chosen": ["auto-shortest", "truck"]}')
    assert is_kept(name_engine())
    tables = '{"format": 0, "engine": "0.1", "modes": {"auto": {}}, "chosen": ["truck"]}'
    (path.parent / "matrix.json").write_text(tables)
    assert not is_kept(name_engine())


def test_roads_are_shared_until_a_week_is_over(
    data: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates, "MAX_DIFFS", 1)
    monkeypatch.setattr(waiting, "_MOST_WAITING", 1.0)
    runs = update(data, serve_folder(DIFFS), "weekly", [ROADS])
    catalog = Catalog(data)
    days: dict[int, list[str]] = {}
    for run in runs:
        folder, manifest = catalog.path(run.dataset), catalog.manifest(run.dataset)
        file = folder / "routing" / "hierarchy" / "auto"
        days.setdefault(int(file.read_text()), []).append(manifest.osm_timestamp[:10])
        first = folder.parent / runs[int(file.read_text()) - 4598].dataset
        assert file.samefile(first / "routing" / "hierarchy" / "auto")
        assert manifest.find_data_time("routing") == catalog.manifest(first.name).osm_timestamp
        assert verify_files(folder, manifest) == []
        # The source is whole where roads were built of it; else it is that one, with changes.
        assert (folder / "source.osm.pbf").exists() == (folder == first)
        if folder != first:
            assert (folder / "source/base.osm.pbf").samefile(first / "source.osm.pbf")
    # The first diff is of months, each further one of a day.
    march, april = [f"2026-03-{day}" for day in range(23, 32)], ["2026-04-01", "2026-04-02"]
    assert days == {
        4598: march[:7], 4605: [*march[7:], *april, "2026-04-03", "2026-04-04", "2026-04-05"],
        4612: ["2026-04-06"],
    }  # fmt: skip
    # What is shared outlives the dataset that it came from.
    for name in catalog.ids()[:-2]:
        catalog.remove(name)
    assert verify_files(catalog.path("current"), catalog.manifest("current")) == []
    assert read_all(data / "current" / "source.osm.pbf") == read_all(EXAMPLES / "monaco.osm.pbf")


def read_all(path: Path) -> list[tuple[object, ...]]:
    return [(str(o), o.version, o.user, dict(o.tags)) for o in osmium.FileProcessor(str(path))]


def test_a_part_of_a_plugin_finds_the_whole_source(data: Path, serve_folder: Serve) -> None:
    found = []
    step = Step("own", lambda ctx: found.append(is_sorted(ctx.source)), lambda size: Estimate(0, 0))
    update(data, serve_folder(DIFFS), "weekly", [step])
    assert found == [True]


def test_files_are_copied_where_a_disk_cannot_share_them(
    data: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(kept_parts, "_ROADS_AGE", {"weekly": timedelta(days=999)})
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    before = Catalog(data).path("current")
    update(data, serve_folder(DIFFS), "weekly", [ROADS])
    old, new = (
        f / "routing" / "hierarchy" / "auto" for f in (before, Catalog(data).path("current"))
    )
    assert new.read_bytes() == old.read_bytes()
    assert not new.samefile(old)
    manifest = Catalog(data).manifest("current")
    assert manifest.find_data_time("routing") == OLD_TIME
    assert verify_files(new.parents[2], manifest) == []


def test_answers_about_ways_say_of_when_the_roads_are(
    tmp_path: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_parts, "_ROADS_AGE", {"weekly": timedelta(days=999)})
    data, steps = tmp_path / "data", select_steps(["routing"])
    build_dataset([OLD], data, steps, Reporter(quiet=True))
    update(data, serve_folder(DIFFS), "weekly", steps[1:])
    store = open_store(data / "current" / "elements")
    metrics = render_freshness(data).decode()
    assert 'mapyard_part_timestamp_seconds{part="routing"} 1.762636857e+09' in metrics
    assert 'mapyard_part_timestamp_seconds{part="store"} 1.775506875e+09' in metrics
    client = LocalClient(Settings(data=data))
    try:
        asked = {"lat": 43.731, "lng": 7.42}
        assert (
            client.get("/api/v1/nearest", params=asked).headers["x-dataset-timestamp"] == OLD_TIME
        )
        features = client.get("/api/v1/features", params={"bbox": "7.41,43.73,7.42,43.74"})
        assert features.headers["x-dataset-timestamp"] == NEW_TIME
        parts = client.get("/version").json()["parts"]
        assert (parts["store"], parts["routing"]) == (NEW_TIME, OLD_TIME)
        modified = client.get("/valhalla/status").json()["tileset_last_modified"]
        assert modified == 1_762_636_857
        rng = np.random.default_rng(5)
        named = 0
        for ends in rng.uniform((43.728, 7.413), (43.748, 7.438), (20, 2, 2)):
            origin, destination = ({"lat": a, "lng": b} for a, b in ends)
            body = {"origin": origin, "destination": destination, "annotations": True}
            found = client.post("/api/v1/route", json=body)
            if found.status_code != 200:
                continue
            assert found.headers["x-dataset-timestamp"] == OLD_TIME
            line = np.array(found.json()["geometry"]["coordinates"])
            ids = found.json()["properties"]["annotations"]["node_ids"]
            for position, osm_id in zip(line, ids, strict=True):
                if osm_id is None:
                    continue
                row = store.find_row(NODE, osm_id)
                named += 1
                at = np.array([store.lon[row], store.lat[row]]) / 1e7
                assert np.abs(position[:2] - at).max() < 2e-6
        assert named > 100
    finally:
        client.close()
