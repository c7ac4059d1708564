"""The notebooks of the documentation run from top to bottom on the demo's map."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import mapyard
from osm_files import EXAMPLES
from servers import copy_data

FOLDER = Path(mapyard.__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def data(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_data(monaco, tmp_path_factory.mktemp("notebooks") / "data")
    (folder / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", folder / "elevation")
    return folder


def test_there_are_four() -> None:
    assert [page.stem for page in NOTEBOOKS] == [
        "delivery-area",
        "first-steps",
        "join-own-data",
        "tag-statistics",
    ]


@pytest.mark.filterwarnings("ignore")  # of the kernel's own packages
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_it_runs(page: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPYARD_DATA", str(data))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(page, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert len(outputs) >= 4
    assert not any(out.output_type == "error" for out in outputs)
    html = [out.data["text/html"] for out in outputs if "text/html" in out.get("data", {})]
    assert html, "nothing was drawn or tabled"
