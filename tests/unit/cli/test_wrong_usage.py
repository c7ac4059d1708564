"""The command line for people who mistype: one line says what to do, with the right exit code."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mapyard.cli import COMPLETION, find_commands, main

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Say:
    """Run a command in this process; return exit code and all that it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["mapyard", *arguments])
        monkeypatch.setenv("COLUMNS", "100")
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        printed = capfd.readouterr()
        return code, printed.out + printed.err

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["match", "no.gpx"], 1, "no.gpx: no such file"),
        (["geocode", "no.csv"], 1, "there is no file no.csv"),
        (["route", "43.73,7.42"], 2, "two positions or more"),
        (["route", "43.73,7.42", "99,7.43"], 2, "latitude 99"),
        (["route", "43.73,7.42", "43.74,7.43", "--mode", "rocket"], 2, "mode: must be one of auto"),
        (["features", "--bbox", "1,2,3"], 2, "bbox: must be four numbers"),
        (["nearby", "43.73"], 2, "two numbers lat,lng"),
        (["tile", "99", "1", "1"], 2, "at most 14"),
        (["sparql", "no.rq"], 2, "give a file, - for standard input, or the query"),
        (["query", "node[amenity"], 1, "line 1"),
        (["query", "no.ql"], 2, "there is no file no.ql"),
    ],
)
def test_one_line_says_what_is_wrong(
    say: Say, monaco: Path, arguments: list[str], code: int, says: str
) -> None:
    got, printed = say(*arguments, "--data", str(monaco))
    assert (got, says in printed) == (code, True), printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"], ["geocode", "Monaco"], ["route", "43.73,7.42", "43.74,7.43"], ["tags"],
        ["query", "node;out;"], ["tiles", "export", "x.pmtiles"], ["datasets", "show"],
    ],
)  # fmt: skip
def test_missing_data_has_one_wording(say: Say, tmp_path: Path, arguments: list[str]) -> None:
    code, printed = say(*arguments, "--data", str(tmp_path))
    wanted = f"there is no dataset in {tmp_path}; build one: mapyard build SOURCE --data {tmp_path}"
    assert (code, wanted in " ".join(printed.split())) == (1, True), printed


def test_cars_are_called_cars(say: Say, monaco: Path) -> None:
    for mode in ("car", "walk", "bike"):
        positions = ("43.7384,7.4246", "43.7314,7.4197")
        code, printed = say(
            "route", *positions, "--mode", mode, "--json", "--data", str(monaco)
        )  # fmt: skip
        assert code == 0, printed
        wanted = {"car": "auto", "walk": "foot", "bike": "bicycle"}[mode]
        assert f'"mode":"{wanted}"' in printed


def test_a_query_may_stand_in_the_line_itself(say: Say, monaco: Path) -> None:
    code, printed = say("query", "node[amenity=cafe];out 2;", "--data", str(monaco), "-f", "table")
    assert (code, "2 found" in printed) == (0, True)
    code, printed = say("sparql", "ASK { ?s osmkey:amenity ?o }", "--data", str(monaco))
    assert (code, printed.strip()) == (0, "true")


@pytest.mark.parametrize("name", sorted(find_commands()))
def test_helps_keep_square_brackets_and_their_paragraphs(say: Say, name: str) -> None:
    code, printed = say(name, "--help")
    assert code == 0
    assert "\\[" not in printed
    assert "[out:" in printed or name != "query"
    assert "node[amenity=cafe]" in printed or name != "query"
    assert "tags[amenity]" in printed or name != "features"
    # A paragraph that was broken by hand has a short line in its middle.
    text = re.split(r"╭─", printed)[0]
    for part in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in part.strip().splitlines()]
        assert all(len(line) > 60 for line in lines[:-1]), lines


def test_a_port_that_is_taken_is_said_before_anything_is_built(say: Say, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, printed = say("demo", "--port", port, "--data", str(tmp_path / "data"))
    assert code == 1
    assert f"port {port} of 127.0.0.1 is in use by another program" in printed
    assert "pk_" not in printed
    assert not (tmp_path / "data" / "datasets").exists()


@pytest.mark.parametrize(
    ("line", "completes"), [("mapyard rou", "route"), ("mapyard route --mo", "--mode")]
)
def test_shells_complete(line: str, completes: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mapyard"],
        env={**os.environ, COMPLETION: "complete_bash", "COMP_WORDS": line, "COMP_CWORD":
             str(len(line.split()) - 1)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert completes in done.stdout.split()
