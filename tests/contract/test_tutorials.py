"""The customer list of the tutorial gives what the page prints."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

from osm_files import ROOT

PAGE = (ROOT / "docs/tutorials.md").read_text()


def test_the_customer_list(tmp_path: Path, monaco: Path) -> None:
    (source,) = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "customers.csv").write_text(source)
    (command,) = re.findall(r"^    mapyard (geocode .*)$", PAGE, re.MULTILINE)
    subprocess.run(
        [sys.executable, "-m", "mapyard", *command.split(), "--data", str(monaco)],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    with (tmp_path / "placed.csv").open() as file:
        rows = list(csv.DictReader(file))
    head, table = re.findall(r"^(\| id \|.*)\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[0]
    names = [cell.strip() for cell in head.strip("| ").split("|")]
    printed = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
    assert [[row[name] for name in names] for row in rows] == printed
    added = len(rows[0]) - len(source.splitlines()[0].split(","))
    assert f"your columns and {added} more" in PAGE
