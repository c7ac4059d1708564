"""Every curl command of README and docs works as it is printed, on a server with Monaco.

Before a command that cannot run here its page has the comment `<!-- not run: why -->`; a file
that a command reads is printed above it in a block ```csv, whose sentence names it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from osm_files import EXAMPLES, ROOT
from servers import Server, copy_data, running

PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "decisions" not in page.parts),
]
NOT_RUN = re.compile(r"<!-- not run: \S.* -->")
FILE = re.compile(r"`(\w+\.csv)`[^\n]*\n\n```csv\n(.*?)```", re.DOTALL)
ADDRESS = re.compile(r"http://(localhost|127\.0\.0\.1):4000(?=/)")


class Command(NamedTuple):
    page: Path
    line: int
    text: str
    is_run: bool

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def read_commands(page: Path) -> Iterator[Command]:
    """Yield the commands of the page's code, continued lines and open quotes included."""
    lines = page.read_text().splitlines()
    prose = ""  # the last line that is neither empty nor code
    fenced = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line and not line.startswith("    "):
            prose = line
        if not re.match(r"(    )?curl( |$)", line) or not (fenced or line.startswith("    ")):
            continue
        end = number
        while not is_whole("\n".join(lines[number : end + 1])):
            end += 1
        text = "\n".join(lines[number : end + 1])
        yield Command(page, number + 1, text, not NOT_RUN.search(prose))


def is_whole(text: str) -> bool:
    return not text.endswith("\\") and text.count("'") % 2 == 0


COMMANDS = [command for page in PAGES for command in read_commands(page)]


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("documented")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with running(data, folder / "log") as opened:
        yield opened


def test_most_commands_are_run() -> None:
    assert len(COMMANDS) > 50
    left_out = [str(command) for command in COMMANDS if not command.is_run]
    print(f"{len(left_out)} of {len(COMMANDS)} commands are not run: {', '.join(left_out)}")  # noqa: T201
    assert len(left_out) <= len(COMMANDS) / 10


@pytest.mark.xdist_group("documented")
@pytest.mark.parametrize("command", [each for each in COMMANDS if each.is_run], ids=str)
def test_documented_commands_are_answered(server: Server, tmp_path: Path, command: Command) -> None:
    for name, text in FILE.findall(command.page.read_text()):
        (tmp_path / name).write_text(text)
    text, count = ADDRESS.subn(server.address, command.text.strip())
    assert count == 1, f"names no local server: {command.text}"
    text = text.replace("YOUR_KEY", server.key)
    text = text.replace("curl", "curl -sS -o answer -w '%{http_code}'", 1)
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env={**os.environ, "KEY": server.key},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = tmp_path / "answer"
    shown = answer.read_bytes()[:500] if answer.exists() else b""
    assert done.stdout in ("200", "201", "202", "204"), shown
