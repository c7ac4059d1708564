"""The version out of tags, in clones with and without them and in source distributions."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from osm_files import ROOT

_SPEC = importlib.util.spec_from_file_location("version_script", ROOT / "scripts/version.py")
assert _SPEC is not None and _SPEC.loader is not None
SCRIPT = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(SCRIPT)
type Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def run(*arguments: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    run("init", "-q")
    (tmp_path / "a").write_text("1")
    run("add", "a")
    run("commit", "-qm", "one")
    return run


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ("v0.2.0-0-g1a2b3c4", "0.2.0"),
        ("v0.2.0-5-g1a2b3c4", "0.2.1.dev5+g1a2b3c4"),
        ("v0.2.0-0-g1a2b3c4-dirty", "0.2.1.dev0+g1a2b3c4.dirty"),
        ("v1.0.0rc1-0-g1a2b3c4", "1.0.0rc1"),
        ("v1.0.0rc1-3-g1a2b3c4", "1.0.0rc2.dev3+g1a2b3c4"),
    ],
)
def test_what_git_describes(described: str, version: str) -> None:
    assert SCRIPT.read_description(described) == version


def test_a_tag_that_is_no_version_is_an_error() -> None:
    with pytest.raises(ValueError, match="no version such as"):
        SCRIPT.read_description("v2-final-0-g1a2b3c4")


def test_a_clone_without_tags_is_before_the_first(tmp_path: Path, git: Git) -> None:
    commit = git("rev-parse", "--short", "HEAD")
    assert SCRIPT.find_version(tmp_path) == f"0.1.0.dev1+g{commit}"


def test_a_tag_is_the_version_and_a_change_is_not(tmp_path: Path, git: Git) -> None:
    git("tag", "v0.3.0")
    assert SCRIPT.find_version(tmp_path) == "0.3.0"
    (tmp_path / "a").write_text("2")
    assert SCRIPT.find_version(tmp_path).startswith("0.3.1.dev0+g")


def test_a_source_distribution_knows_its_version(tmp_path: Path, git: Git) -> None:
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: mapyard\nVersion: 0.4.2\n")
    assert SCRIPT.find_version(tmp_path) == "0.4.2"


def test_the_repository_around_a_folder_does_not_count(tmp_path: Path, git: Git) -> None:
    git("tag", "v7.0.0")
    inner = tmp_path / "vendored"
    inner.mkdir()
    assert SCRIPT.find_version(inner) == "0.1.0.dev0"
