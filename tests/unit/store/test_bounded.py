"""A store is the same to the byte however little memory its build has, which stays small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mapyard.osm.source import prepare_source
from mapyard.store import dictionary, shapes, sorting, tag_spool
from mapyard.store.writer import write_store
from osm_files import EXAMPLES, write_osm

#: Builds a file under a limit and prints what the process itself held at most (RssAnon), bytes.
WATCHED = """
import sys, threading
from pathlib import Path
from mapyard.store.writer import write_store

peak, over = 0, threading.Event()

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("RssAnon"))) * 1024

def watch():
    global peak
    while not over.wait(0.01):
        peak = max(peak, held())

before = held()
thread = threading.Thread(target=watch)
thread.start()
write_store(Path(sys.argv[2]), Path(sys.argv[1]), memory_bytes=int(sys.argv[3]))
over.set()
thread.join()
print(peak - before)
"""


def read_all(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_monaco_is_the_same_with_almost_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = EXAMPLES / "monaco.osm.pbf"
    write_store(tmp_path / "free", source)
    for module, name in (
        (sorting, "BLOCK_KEYS"), (sorting, "_LEAST_KEYS"), (dictionary, "_AT_ONCE"),
        (tag_spool, "_CHUNK_TAGS"), (tag_spool, "_TEXTS_AT_ONCE"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, 1_000)
    write_store(tmp_path / "bound", source, memory_bytes=24_000)
    free, bound = read_all(tmp_path / "free"), read_all(tmp_path / "bound")
    assert free.keys() == bound.keys()
    assert [name for name in free if free[name] != bound[name]] == []
    assert not [path for path in (tmp_path / "bound").iterdir() if path.is_dir()]


def test_for_every_number_of_jobs_the_same_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "_CHUNK_WAYS", 700)
    monkeypatch.setattr(shapes, "_CHUNK_RELATIONS", 40)
    source = EXAMPLES / "monaco.osm.pbf"
    alone = write_store(tmp_path / "alone", source)
    together = write_store(tmp_path / "together", source, jobs=3)
    assert read_all(tmp_path / "alone") == read_all(tmp_path / "together")
    assert alone["problem_ids"] == together["problem_ids"]
    assert list(alone["problem_ids"]) == list(together["problem_ids"])


def test_doubled_keys_and_broken_text_are_the_same(tmp_path: Path) -> None:
    # Values differ by bytes that are replaced, over several runs of the dictionary.
    source = tmp_path / "in.osm.pbf"
    nodes = {i: (i / 1e4, 1.0, {"a": str(i % 50), "b": "x" * (i % 3)}) for i in range(1, 9_000)}
    prepare_source([write_osm(tmp_path / "in.osm", nodes)], source)
    write_store(tmp_path / "free", source)
    write_store(tmp_path / "bound", source, memory_bytes=1)
    assert read_all(tmp_path / "free") == read_all(tmp_path / "bound")


def test_memory_stays_small_while_the_map_grows(tmp_path: Path) -> None:
    # Nodes with values of their own, each in a way: everything there is to sort grows.
    held = []
    for count in (20_000, 160_000):
        rng = np.random.default_rng(1)
        ids = np.arange(1, count + 1)
        lon, lat = rng.uniform(-10, 10, (2, count)).round(7)
        lines = [
            f'<node id="{i}" version="1" lon="{x}" lat="{y}"><tag k="name" v="{i}"/></node>'
            for i, x, y in zip(ids.tolist(), lon.tolist(), lat.tolist(), strict=True)
        ]
        for way in range(1, count // 10):
            refs = "".join(f'<nd ref="{way * 10 + k}"/>' for k in range(10))
            lines.append(f'<way id="{way}" version="1">{refs}</way>')
        (tmp_path / "in.osm").write_text("\n".join(['<osm version="0.6">', *lines, "</osm>"]))
        source = tmp_path / f"{count}.osm.pbf"
        prepare_source([tmp_path / "in.osm"], source)
        command = [sys.executable, "-c", WATCHED, source, tmp_path / str(count), "1000000"]
        done = subprocess.run(list(map(str, command)), capture_output=True, check=True, text=True)
        held.append(int(done.stdout))
    # Eight times the map: 140,000 texts and 320,000 keys of eight bytes more than fit into 1 MB.
    assert held[1] < held[0] + 25_000_000
