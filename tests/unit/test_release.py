"""What a release checks before it builds, and a release itself in its short form."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from osm_files import ROOT


def load_script() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location("release_script", ROOT / "scripts/release.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


SCRIPT = load_script()
CHANGELOG = "# Changelog\n\n## Unreleased\n{unreleased}\n## 0.2.0 - 2027-01-15\n{lines}\n"
CITATION = "version: 0.2.0\ndate-released: 2027-01-15\n"


def write(folder: Path, changelog: str, citation: str = CITATION) -> Path:
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "CITATION.cff").write_text(citation)
    return folder


def test_a_version_that_all_texts_know(tmp_path: Path) -> None:
    SCRIPT.check_texts("0.2.0", write(tmp_path, CHANGELOG.format(unreleased="", lines="\n- a\n")))


def test_a_development_version_needs_only_the_section(tmp_path: Path) -> None:
    root = write(tmp_path, "# Changelog\n\n## Unreleased\n\n- a\n", "version: 0.1.0\n")
    SCRIPT.check_texts("0.2.1.dev3+gabc", root)
    with pytest.raises(SCRIPT.Failed, match="does not begin with the section Unreleased"):
        SCRIPT.check_texts("0.2.1.dev3+gabc", write(tmp_path, "# Changelog\n\n## 0.2.0\n"))


@pytest.mark.parametrize(
    ("version", "unreleased", "lines", "citation", "says"),
    [
        ("0.3.0", "", "\n- a\n", CITATION, "needs `## 0.3.0 - YYYY-MM-DD`"),
        ("0.2.0", "", "", CITATION, "says nothing about 0.2.0"),
        ("0.2.0", "\n- b\n", "\n- a\n", CITATION, "they belong to 0.2.0"),
        ("0.2.0", "", "\n- a\n", "version: 0.1.0\n", "needs `version: 0.2.0`"),
        ("0.2.0", "", "\n- a\n", "version: 0.2.0\n", "needs `date-released: 2027-01-15`"),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, version: str, unreleased: str, lines: str, citation: str, says: str
) -> None:
    changelog = CHANGELOG.format(unreleased=unreleased, lines=lines)
    with pytest.raises(SCRIPT.Failed) as failed:
        SCRIPT.check_texts(version, write(tmp_path, changelog, citation))
    assert says in str(failed.value)


def has_network() -> bool:
    """Whether packages can be had here."""
    uv = shutil.which("uv") or ROOT / ".tools/bin/uv"
    if not Path(uv).is_file():
        return False
    done = subprocess.run(
        [uv, "pip", "compile", "-q", "-"],
        input="hatchling", capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_runs_the_demo_in_a_clean_environment(tmp_path: Path) -> None:
    if not has_network():
        pytest.skip("needs the package index")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/release.py", "--quick", "--dist", tmp_path / "dist"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the demo ran" in done.stdout
    made = {path.suffix for path in (tmp_path / "dist").iterdir()}
    assert {".whl", ".gz", ".json"} <= made
    checked = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "dist", check=False
    )
    assert checked.returncode == 0
