"""Every curl command of README and docs works as it is printed, on a server with Monaco.

Address, key and what is of the reader's own (a dataset, a job, a file) are put in; a file that a
command reads is printed above it in a block ```csv, whose sentence names it. Before a command that
cannot run here its page has the comment `<!-- not run: why -->`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from code_blocks import Block, read_blocks, split_commands
from osm_files import EXAMPLES
from servers import METRICS_TOKEN, Server, copy_data, running

FILE = re.compile(r"`(\w+\.csv)`[^\n]*\n\n```csv\n(.*?)```", re.DOTALL)
ADDRESS = re.compile(r"http://(localhost|127\.0\.0\.1):4000(?=/)")
SHOPS = "name,kind,lat,lon\nUn,cafe,43.7384,7.4246\nDeux,bar,43.7314,7.4197\n"
STOPS = [[7.4246, 43.7384], [7.4197, 43.7314], [7.4273, 43.7402]]


class Command(NamedTuple):
    block: Block
    text: str

    def __str__(self) -> str:
        line = self.block.text[: self.block.text.index(self.text)].count("\n") + 1
        return f"{self.block.page.name}:{self.block.line + line}"


COMMANDS = [
    Command(block, text)
    for block in read_blocks("curl", "sh")
    for text in split_commands(block.text)
    if block.is_run and re.match(r"curl( |$)", text)
]


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("documented")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with running(data, folder / "log", MAPYARD_OPTIMIZE_INLINE_STOPS="2") as opened:
        yield opened


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS) > 150


def make_dataset(server: Server) -> str:
    """Return the id of a dataset of the account's own, with two rows."""
    made = server.post("/api/v1/datasets", json={"name": "Mine", "slug": "mine"})
    dataset_id = str(made.json()["id"])
    subprocess.run(
        ["curl", "-fsS", "-T", "-", "-H", f"X-API-Key: {server.key}",
         f"{server.address}/api/v1/datasets/{dataset_id}/source?name=mine.csv"],
        input=SHOPS, text=True, check=True, capture_output=True, timeout=20,
    )  # fmt: skip
    ends_s = time.monotonic() + 60
    while server.get(f"/api/v1/datasets/{dataset_id}").json()["status"] != "ready":
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    return dataset_id


def delete_dataset(server: Server, name: str) -> None:
    subprocess.run(
        ["curl", "-sS", "-X", "DELETE", "-H", f"X-API-Key: {server.key}",
         f"{server.address}/api/v1/datasets/{name}"],
        check=True, capture_output=True, timeout=20,
    )  # fmt: skip


@pytest.mark.xdist_group("documented")
@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_documented_commands_are_answered(server: Server, tmp_path: Path, command: Command) -> None:
    for name, text in FILE.findall(command.block.page.read_text()):
        (tmp_path / name).write_text(text)
    (tmp_path / "FILE").write_text(SHOPS)
    text, count = ADDRESS.subn(server.address, command.text.strip())
    assert count == 1, f"names no local server: {command.text}"
    if "{id}" in text:
        for part, own in (("{id}", make_dataset(server)), ("{row}", "1"), ("{z}/{x}/{y}", "0/0/0")):
            text = text.replace(part, own)
    if "{job_id}" in text:
        made = server.post("/api/v1/optimize", json={"mode": "foot", "waypoints": STOPS})
        text = text.replace("{job_id}", made.json()["job_id"])
    if "/api/v1/datasets" in text and '"slug"' in text:
        delete_dataset(server, "my-shops")  # an earlier command may have made it
    text = text.replace("YOUR_KEY", server.key).replace("METRICS_TOKEN", METRICS_TOKEN)
    text = text.replace("curl", "curl -sS -o answer -w '%{http_code}'", 1)
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env={**os.environ, "KEY": server.key},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    delete_dataset(server, "mine")
    assert done.returncode == 0, done.stderr
    answer = tmp_path / "answer"
    shown = answer.read_bytes()[:500] if answer.exists() else b""
    assert done.stdout in ("200", "201", "202", "204"), shown
