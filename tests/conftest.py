"""Fixtures for all tests: built datasets are made once and shared by the test processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.dataset.catalog import Catalog
from mapyard.store.reader import Store, open_store
from osm_files import EXAMPLES

# The same examples in every run, so that a failure is due to the change; HYPOTHESIS_PROFILE=random
# seeks new ones. No deadline: machines are slow at times.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def build_once(shared_folder: Path) -> Callable[[str, Path, list[str] | None], Path]:
    """Build a data folder by name, once for all processes; returns the data folder."""

    def build(name: str, source: Path, only: list[str] | None = None) -> Path:
        data = shared_folder / name
        data.mkdir(exist_ok=True)
        with (shared_folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if Catalog(data).find_current() is None:
                build_dataset([source], data, select_steps(only), Reporter(quiet=True))
        return data

    return build


@pytest.fixture(scope="session")
def monaco(build_once: Callable[..., Path]) -> Path:
    """Data folder with Monaco in all parts. Read only: do not switch or prune in it."""
    return build_once("monaco", EXAMPLES / "monaco.osm.pbf", None)


@pytest.fixture(scope="session")
def monaco_store(build_once: Callable[..., Path]) -> Store:
    """The feature store of Monaco, without the other parts."""
    data = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    return open_store(data / "current" / "elements")
