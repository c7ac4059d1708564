"""`mapyard bulk --ray`: two nodes on loopback answer what one process answers."""

from __future__ import annotations

import csv
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_nodes import BIN, RayNode, free_port, wait_for
from fleets import build_regions, upload
from mapyard.bulk.run import OneDataset
from mapyard.fleet.bulk import find_data
from osm_files import EXAMPLES

pytestmark = [
    pytest.mark.xdist_group("fleet"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]


@pytest.fixture(scope="module")
def nodes(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RayNode]]:
    folder = tmp_path_factory.mktemp("bulk")
    head = f"127.0.0.2:{free_port()}"
    started: list[RayNode] = []
    try:
        for number in (1, 2):
            started.append(RayNode(folder, number, head, {}))
            shutil.copytree(
                monaco / "datasets", started[-1].data / "datasets",
                copy_function=lambda a, b: Path(b).hardlink_to(a),
            )  # fmt: skip
            (started[-1].data / "current").symlink_to((monaco / "current").readlink())
        yield started
    finally:
        for node in started:
            node.kill()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Positions of Monaco, some of which are nowhere."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = ["id,lat,lon"]
    for number in range(6_000):
        lat = 99 if number % 997 == 0 else 43.725 + number % 77 * 0.0003
        lines.append(f"{number},{lat},{7.41 + number % 83 * 0.0003:.4f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def start(nodes: list[RayNode], *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(BIN / "mapyard"), "bulk", *map(str, words)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=nodes[0].environment,
    )  # fmt: skip


def run(nodes: list[RayNode], *words: object) -> tuple[int, str, str]:
    process = start(nodes, *words)
    out, said = process.communicate(timeout=200)
    return process.returncode, out, said


def test_nodes_fetch_the_regions_that_rows_ask_for(
    nodes: list[RayNode], shared_folder: Path, rows: Path, tmp_path: Path
) -> None:
    """Of four regions and all places, in the order of one machine; bad rows in their place."""
    regions = build_regions(EXAMPLES / "monaco.osm.pbf", shared_folder / "four-regions", 4, 200.0)
    url = tmp_path / "maps"
    upload(url, [(regions, shared_folder / "four-regions")])
    ray = ("--ray", f"{nodes[0].head}@{nodes[0].ip}")
    before = {path.name for path in nodes[0].datasets()}
    some = tmp_path / "some.csv"
    some.write_text("".join(rows.read_text().splitlines(keepends=True)[:1_500]))
    for name, more in (
        ("enrich", ("--nearest", "amenity=cafe", "--within", "400", "--inside", "building")),
        ("reverse", ()),
    ):
        one, many = tmp_path / f"{name}-one.csv", tmp_path / f"{name}.csv"
        code, _, said = run(nodes, name, some, one, "--workers", 1, *more)
        assert code == 0, said
        code, _, said = run(nodes, name, some, many, "--block", 150, "--from", url, *ray, *more)
        assert code == 0, said
        assert many.read_bytes() == one.read_bytes()
    fetched = [path for path in nodes[0].datasets() if path.name not in before]
    names = {json.loads((path / "fetched.json").read_bytes())["region"] for path in fetched}
    assert names == {"r001", "r002", "r003", "r004", "places"}


def test_the_answers_are_those_of_one_process(
    nodes: list[RayNode], rows: Path, tmp_path: Path
) -> None:
    ray = ("--ray", f"{nodes[0].head}@{nodes[0].ip}")
    one, many = tmp_path / "one.csv", tmp_path / "many.csv"
    code, _, said = run(nodes, "reverse", rows, one, "--workers", 1)
    assert code == 0, said
    code, out, said = run(nodes, "reverse", rows, many, "--block", 250, *ray, "--json")
    assert code == 0, said
    assert "processes: 4, nodes: 2" in said
    done = json.loads(out)
    with one.open() as file:
        failed = sum(bool(row["error"]) for row in csv.DictReader(file))
    assert 7 <= failed < 2_000
    assert (done["rows"], done["failed"]) == (6_000, failed)
    assert many.read_bytes() == one.read_bytes()

    # A node that goes while it works loses nothing.
    again = tmp_path / "again.csv"
    process = start(nodes, "reverse", rows, again, "--block", 50, *ray)
    wait_for(lambda: len(list(tmp_path.glob("again.csv.parts/*.part"))) >= 3)
    nodes[1].kill()
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert again.read_bytes() == one.read_bytes()


def test_a_node_knows_whether_it_has_the_dataset(
    monaco: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = (monaco / "current").resolve().name
    asked = OneDataset(tmp_path / "on another machine", dataset)
    monkeypatch.setenv("MAPYARD_DATA", str(monaco))
    assert find_data(asked) == str(monaco)
    assert find_data(asked._replace(name="2020-01-01T000000Z-000000")) == ""
    monkeypatch.delenv("MAPYARD_DATA")
    assert find_data(asked) == ""
    assert find_data(asked._replace(data=monaco)) == str(monaco)  # a folder that all nodes see
