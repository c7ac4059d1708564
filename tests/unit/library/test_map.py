"""Opening data folders: which dataset answers, and for how long."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mapyard
from mapyard.cli import main
from mapyard.errors import MapyardError
from mapyard.library.generate import write_methods
from mapyard.library.methods import __file__ as methods_file
from osm_files import EXAMPLES


@pytest.fixture
def two(build_once: Callable[..., Path], tmp_path: Path, monaco: Path) -> tuple[Path, str, str]:
    """A data folder with two datasets of Monaco; the ids of the first and of the second."""
    from mapyard.builder.pipeline import build_dataset
    from mapyard.builder.progress import Reporter
    from mapyard.builder.steps import select_steps
    from mapyard.dataset.catalog import Catalog

    steps = select_steps(["store"])
    build_dataset([EXAMPLES / "monaco.osm.pbf"], tmp_path, steps, Reporter(quiet=True))
    first = Catalog(tmp_path).get_current().name
    build_dataset([EXAMPLES / "monaco.osm.pbf"], tmp_path, steps, Reporter(quiet=True))
    second = Catalog(tmp_path).get_current().name
    assert first != second
    return tmp_path, first, second


def test_a_new_dataset_is_taken_up_or_waited_for(two: tuple[Path, str, str]) -> None:
    data, first, second = two
    link = data / "current"

    def switch(name: str) -> None:
        link.unlink()
        link.symlink_to(Path("datasets") / name)

    switch(first)
    with mapyard.open(data) as follows, mapyard.open(data, follow=False) as waits:
        kept = follows.features(tags="shop")
        count = len(follows.features(tags="shop"))
        switch(second)
        assert (follows.dataset, waits.dataset) == (second, first)
        assert waits.refresh() == second
        assert len(kept) == count  # a result stays with the dataset that it came from
    with mapyard.open(data, dataset=first) as old:
        assert old.dataset == first


def test_a_lazy_result_lets_its_dataset_go(two: tuple[Path, str, str]) -> None:
    data, _, _ = two
    with mapyard.open(data) as source:
        found = source.features(tags="shop")
        snapshot = found.call.snapshot  # type: ignore[attr-defined] # of this process
        assert snapshot._leases == 1
        del found
        gc.collect()
        assert snapshot._leases == 0


def test_a_folder_without_a_dataset_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(MapyardError, match="mapyard build"):
        mapyard.open(tmp_path)


def test_build_opens_what_it_built(tmp_path: Path) -> None:
    said: list[str] = []
    with mapyard.build(
        EXAMPLES / "monaco.osm.pbf", data=tmp_path, only=["store"], progress=said.append
    ) as source:
        assert source.feature("way", 94399684)["building"] == "hotel"
        west, south, east, north = source.bounds
        assert west < 7.42 < east
        assert south < 43.74 < north
    assert said
    assert said[0].startswith("source: reading …")
    assert said[-1].startswith("checking and syncing: done in ")


def test_methods_are_current() -> None:
    assert Path(methods_file).read_text() == write_methods(), "run: mapyard docs"


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, mapyard; mapyard.open; mapyard.connect; "
        "print(sorted({'numpy', 'shapely', 'httpx', 'msgspec', 'typer', 'valhalla', 'tantivy', "
        "'sqlalchemy', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_imports_no_engine() -> None:
    code = (
        "import sys; sys.argv = ['mapyard', '--help']\n"
        "from mapyard.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'shapely', 'valhalla', 'sqlalchemy', 'markdown_it', 'pygments'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "mapyard COMMAND"),
        ([], 2, "plan-tours"),
        (["--version"], 0, "mapyard "),
        (["goecode"], 2, "did you mean geocode?"),
        (["--nonsense"], 2, "--nonsense"),
    ],
)
def test_the_first_page_and_what_is_no_command(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["mapyard", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err
