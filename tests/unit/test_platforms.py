"""Platforms where nothing would work are named before a dependency fails to be built."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from mapyard import cli
from osm_files import ROOT

_SPEC = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
assert _SPEC is not None and _SPEC.loader is not None
BUILD = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(BUILD)


@pytest.mark.parametrize(
    ("system", "machine", "libc", "says"),
    [
        ("win32", "AMD64", "", "install it in WSL"),
        ("darwin", "x86_64", "", "no build for Intel Macs"),
        ("linux", "x86_64", "", "needs glibc"),
        ("linux", "riscv64", "glibc", "no build for riscv64"),
    ],
)
def test_an_obstacle_is_named(system: str, machine: str, libc: str, says: str) -> None:
    assert says in BUILD.find_obstacle(system, machine, libc)


@pytest.mark.parametrize(
    ("system", "machine", "libc"),
    [("linux", "x86_64", "glibc"), ("linux", "aarch64", "glibc"), ("darwin", "arm64", "")],
)
def test_others_are_let_pass(system: str, machine: str, libc: str) -> None:
    assert BUILD.find_obstacle(system, machine, libc) == ""


def test_the_command_says_it_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit, match="use WSL"):
        cli.main()
