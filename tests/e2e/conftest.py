"""A data folder to serve, a browser and axe-core, each where the machine has them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import CHROMIUM, Browser, open_browser
from servers import copy_data


@pytest.fixture(scope="module")
def monaco_copy(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of this module's own with Monaco in it."""
    data = tmp_path_factory.mktemp("e2e") / "data"
    copy_data(monaco, data)
    return data


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser of one tab."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def axe(shared_folder: Path) -> str:
    """The source of axe-core, installed through npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm for axe-core")
    folder = shared_folder / "axe"
    path = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(
            [*command, "--prefix", str(folder), "axe-core@4.14.1"],
            capture_output=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            pytest.skip("npm cannot install axe-core here")
    return path.read_text()
