"""Every block of code in README and docs is checked by some test, and nearly all are run.

Commands, programs, pages and queries are run by the tests named below; what is only data is read
here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections import Counter

import pytest
import yaml

from code_blocks import SETTING, Block, read_blocks
from mapyard.settings import get_settings, list_settings
from osm_files import ROOT

#: Kind → the test that checks it.
CHECKED_BY = {
    "curl": "contract/test_documented_commands.py",
    "sh": "contract/test_documented_shell.py",
    "python": "contract/test_documented_python.py",
    "sparql": "contract/test_documented_queries.py",
    "plazaql": "contract/test_documented_queries.py",
    "html": "e2e/test_documented_pages.py",
    "js": "e2e/test_documented_pages.py",
    "diff": "e2e/test_contributing.py",
    "json": "unit/test_code_blocks.py",
    "csv": "unit/test_code_blocks.py",
    "toml": "unit/test_code_blocks.py",
    "yaml": "unit/test_code_blocks.py",
    "settings": "unit/test_code_blocks.py",
}


def blocks(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", read_blocks(kind), ids=str)


def test_nearly_all_blocks_are_run() -> None:
    code = [block for block in read_blocks() if block.kind != "text"]
    left_out = [block for block in code if block.why_not_run]
    counts = Counter(block.kind for block in code)
    for kind, count in counts.most_common():
        print(f"{count:>4} {kind:<9} {CHECKED_BY[kind]}")  # noqa: T201
    print(f"{len(left_out)} of {len(code)} blocks of code are not run:")  # noqa: T201
    for block in left_out:
        print(f"     {block}: {block.why_not_run}")  # noqa: T201
    tests = [f"tests/{name}" for name in CHECKED_BY.values()]
    tests += [block.run_by for block in code if block.run_by]
    assert all((ROOT / name).is_file() for name in tests)
    assert len(code) > 300
    assert len(left_out) <= len(code) / 10


@blocks("json")
def test_json_is_well_formed(block: Block) -> None:
    text = re.sub(r"{…}", "{}", block.text)
    json.loads(text if text.startswith("{") else f"{{{text}}}")  # or members of an object


@blocks("csv")
def test_rows_have_all_columns(block: Block) -> None:
    head, *rows = csv.reader(io.StringIO(block.text))
    assert rows
    assert {len(row) for row in rows} == {len(head)}


@blocks("toml")
def test_toml_is_well_formed(block: Block) -> None:
    assert tomllib.loads(block.text)


@blocks("yaml")
def test_manifests_name_what_there_is(block: Block) -> None:
    known = {setting.variable for setting in list_settings()}
    manifest = yaml.safe_load(block.text)
    pods = [manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]]
    for container in (c for pod in pods for c in pod["template"]["spec"]["containers"]):
        names = {each["name"] for each in container["env"] if each["name"].startswith("MAPYARD_")}
        assert names <= known


@blocks("settings")
def test_settings_are_taken(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {setting.variable for setting in list_settings()}
    for line in block.text.splitlines():
        found = SETTING.fullmatch(line)
        assert found is not None
        assert found[1] in known
        monkeypatch.setenv(found[1], found[2].strip())
    get_settings.cache_clear()
    try:
        get_settings()
    finally:
        get_settings.cache_clear()
