"""The Python of README and docs runs as it is printed: the blocks of a page one after the other.

Only addresses, keys and what a page leaves to the reader (`KEY`, `text`, `dataset`) are put in.
What a page builds is built in a folder of its own.
Before a block that cannot run here its page has the comment `<!-- not run: why -->`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_blocks import group_blocks
from osm_files import EXAMPLES
from servers import Server, copy_data, running

#: What a page takes for granted.
BEFORE = """
import geopy.geocoders, pathlib, mapyard
geopy.geocoders.options.default_scheme = "http"
KEY, text, dataset = {key!r}, "node[amenity=cafe];out;", pathlib.Path("data/current")
"""
RUN = """
import ast, asyncio, inspect, sys, types, warnings
warnings.simplefilter("ignore")
names = {"__name__": "__main__"}
for source in sys.stdin.read().split("\\x00"):
    code = compile(source, "<printed>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(types.FunctionType(code, names)())
    else:
        exec(code, names)
"""
PAGES = group_blocks("python")


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("documented-python")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with running(data, folder / "log") as opened:
        yield opened


@pytest.mark.xdist_group("documented")
@pytest.mark.parametrize("page", PAGES)
def test_documented_python_runs(server: Server, tmp_path: Path, page: str) -> None:
    folder = server.log.parent
    (tmp_path / "data").symlink_to(folder / "data")
    shutil.copy(EXAMPLES / "monaco.osm.pbf", tmp_path)
    (tmp_path / "built" / "elevation").mkdir(parents=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", tmp_path / "built" / "elevation")
    place = server.address.removeprefix("http://")
    blocks = [BEFORE.format(key=server.key), *(block.text for block in PAGES[page])]
    for wanted, there in (
        ("https://maps.example.org", server.address),
        ("maps.example.org", place),
        ("localhost:4000", place),
        ("127.0.0.1:4000", place),
        ('"monaco.osm.pbf", data="data"', '"monaco.osm.pbf", data="built"'),
        ("pk_live_…", server.key),
        ('key="…"', f'key="{server.key}"'),
        ("api_key=KEY\"", f"api_key={server.key}\""),
    ):  # fmt: skip
        blocks = [block.replace(wanted, there) for block in blocks]
    done = subprocess.run(
        [sys.executable, "-c", RUN], input="\0".join(blocks), text=True, capture_output=True,
        cwd=tmp_path, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
