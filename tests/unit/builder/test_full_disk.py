"""A disk that is full at any moment of a build, also of sorts and of arrays in files.

The disk is real: a small tmpfs in a mount namespace of its own, larger with every attempt.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from killed import kill_while_building
from osm_files import EXAMPLES

#: Builds on disks of the sizes that it is told, kB, and prints what came of each.
PROGRAM = """
import json, os, subprocess, sys
from pathlib import Path
from mapyard.builder import memory, pipeline
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.errors import MapyardError
from mapyard.store import sorting, spill, tag_spool

source, data, sizes = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
parts = sys.argv[4:]
pipeline.check_room = lambda *_: None
memory._LEAST_SORT_BYTES, memory._BASE_BYTES = 1_000_000, 1 << 62
spill.LARGE_BYTES = 1 << 16
sorting._LEAST_KEYS = sorting.BLOCK_KEYS = 5_000
for size in sizes:
    subprocess.run(["mount", "-o", f"remount,size={size}k", str(data)], check=True)
    try:
        steps = select_steps(parts)
        pipeline.build_dataset([source], data, steps, Reporter(quiet=True), jobs=1)
        said = ""
    except MapyardError as error:
        said = error.message
    folder = data / "datasets"
    left = sorted(os.listdir(folder)) if folder.exists() else []
    print(json.dumps([said, left, spill.tell_spilled().refused_bytes]), flush=True)
"""


def in_namespace(*command: str) -> list[str]:
    return ["unshare", "--map-root-user", "--mount", "--", *command]


def can_mount(folder: Path) -> bool:
    if not shutil.which("unshare"):
        return False
    command = in_namespace("mount", "-t", "tmpfs", "none", str(folder))
    return subprocess.run(command, capture_output=True).returncode == 0


def build_on_disks(folder: Path, sizes: list[int], *parts: str) -> list[tuple[str, int]]:
    """Return what was said on each disk but the last, which suffices, and what was refused."""
    if not can_mount(folder):
        pytest.skip("no mount namespaces here")
    arguments = [str(EXAMPLES / "monaco.osm.pbf"), str(folder), json.dumps(sizes), *parts]
    script = 'mount -t tmpfs -o mode=700 none "$0" && exec "$@"'
    command = in_namespace(
        "sh", "-c", script, str(folder), sys.executable, "-c", PROGRAM, *arguments
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == len(sizes)
    for said, left, _ in made[:-1]:
        assert said.startswith(f"the disk of {folder} is full (No space left on device")
        assert "the build takes about 0." in said
        assert left == []
    said, left, _ = made[-1]
    assert (said, len(left)) == ("", 1)
    return [(said, refused) for said, _, refused in made[:-1]]


@pytest.mark.slow
def test_nothing_is_left_and_what_is_missing_is_said(tmp_path: Path) -> None:
    sizes = [1_000, 2_000, 3_000, 4_000, *range(5_000, 10_100, 300), 100_000]
    made = build_on_disks(tmp_path, sizes, "text", "tiles")
    assert any("writing" in said for said, _ in made)
    assert any("MB more of working files" in said and refused for said, refused in made)


@pytest.mark.slow
def test_roads_leave_nothing_either(tmp_path: Path) -> None:
    """The disk ends while areas are read, roads written, tiles made and packed, ways prepared."""
    sizes = [7_000, 10_000, *range(11_000, 27_000, 1_500), 200_000]
    made = build_on_disks(tmp_path, sizes, "routing")
    for what in (
        "valhalla_build_admins was writing", "valhalla_build_tiles was writing",
        "MB more of working files",
    ):  # fmt: skip
        assert any(what in said for said, _ in made), what


#: Builds as little in memory as there can be.
TIGHT = """
import sys
from pathlib import Path
from mapyard.builder import memory, pipeline
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.store import sorting, spill

memory._LEAST_SORT_BYTES, memory._BASE_BYTES = 1, 1 << 62
spill.LARGE_BYTES = 1 << 12
sorting._LEAST_KEYS = sorting.BLOCK_KEYS = 1_000
steps = select_steps(sys.argv[3:])
pipeline.build_dataset([Path(sys.argv[1])], Path(sys.argv[2]), steps, Reporter(quiet=True), jobs=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("parts", [("text", "tiles"), ("routing",)], ids="+".join)
def test_a_kill_among_sorts_and_arrays_in_files_leaves_what_the_next_build_removes(
    tmp_path: Path, parts: tuple[str, ...]
) -> None:
    source, folder = EXAMPLES / "monaco.osm.pbf", tmp_path / "datasets"
    folder.mkdir()
    program = ["-c", TIGHT, str(source), str(tmp_path), *parts]
    interrupted = [
        kill_while_building(program, tmp_path, after_s) for after_s in (0.3, 0.8, 1.5, 2.5, 4.0)
    ]
    assert any(interrupted)
    # A folder that was killed goes with the next build, so there is one at most.
    assert len([path for path in folder.iterdir() if path.name.startswith(".")]) <= 1
    subprocess.run([sys.executable, *program], check=True)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    left = ("sort-", "work-", "spill-", "areas-", "scratch-", "roads.osm.pbf")
    assert not [path for path in folder.rglob("*") if path.name.startswith(left)]
