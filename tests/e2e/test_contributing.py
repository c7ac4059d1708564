"""CONTRIBUTING.md's first change, done in a fresh clone as its text says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from osm_files import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
DIFFS = re.findall(r"```diff\n--- a/(\S+)\n\+\+\+ b/\S+\n(.*?)```", TEXT, re.DOTALL)
TEST = "tests/unit/features/test_tags.py"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone")
    folder = tmp_path / "mapyard"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
    # What is not committed yet is tried as well.
    for name in {name for name, _ in DIFFS}:
        shutil.copyfile(ROOT / name, folder / name)
    for library in (ROOT / "src").rglob("kernels.so"):
        shutil.copyfile(library, folder / library.relative_to(ROOT))
    return folder


def apply(folder: Path, name: str, diff: str) -> None:
    """Apply a diff without line numbers: where its old lines are, once, its new ones come."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    text = (folder / name).read_text()
    assert text.count(old) == 1, f"{name} has these lines {text.count(old)} times:\n{old}"
    (folder / name).write_text(text.replace(old, new))


def run_test(folder: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout  # passed, or failed: not stopped by an error
    return done.returncode


def test_the_first_change_in_ten_minutes(clone: Path) -> None:
    names = [name for name, _ in DIFFS]
    assert names == [TEST, "src/mapyard/features/tags.py", "docs/features.md"]
    test, code, docs = DIFFS
    apply(clone, *test)
    assert run_test(clone) == 1
    apply(clone, *code)
    assert run_test(clone) == 0
    apply(clone, *docs)
    ruff = Path(sys.executable).with_name("ruff")
    for words in (("check", "--no-cache", "."), ("format", "--no-cache", "--check", ".")):
        subprocess.run([ruff, *words], cwd=clone, check=True, capture_output=True)
