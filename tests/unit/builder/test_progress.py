"""What people see of long work, on terminals of any width and in logs."""

from __future__ import annotations

import io
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from mapyard.builder import progress
from mapyard.builder.progress import LineReporter, Plan, Reporter, format_time

PARTS = [("source", 1.0), ("store", 10.0), ("text", 9.0)]


def read_screens(text: str) -> list[list[str]]:
    """Return what a terminal shows, after each line and before each that is erased."""
    rows, y, x, seen = [""], 0, 0, []
    for piece in re.findall(r"\x1b\[\??[\d;]*[A-Za-z]|.|\n", text, re.DOTALL):
        if piece == "\x1b[2K":
            seen.append(rows.copy())
            rows[y] = ""
        elif piece.endswith("A") and piece.startswith("\x1b"):
            y -= int(piece[2:-1])
        elif piece == "\r":
            x = 0
        elif piece == "\n":
            seen.append(rows.copy())
            y, x = y + 1, 0
            rows += [""] * (y + 1 - len(rows))
        elif not piece.startswith("\x1b"):
            rows[y] = rows[y][:x].ljust(x) + piece + rows[y][x + 1 :]
            x += 1
    return [*seen, rows]


def work(reporter: Reporter) -> None:
    with reporter:
        reporter.plan(PARTS)
        reporter.stage("source: reading")
        for name in ("reading elements", "geometry", "a stage with a long name " * 3):
            reporter.stage(f"store: {name}", total=40_000, unit="elements")
            for done in range(0, 40_000, 10_000):
                reporter.advance(done)
                time.sleep(0.05)
        reporter.stage("text: index")
        time.sleep(0.2)


@pytest.mark.parametrize("width", [200, 80, 40, 20, 5])
def test_one_line_of_each_finished_part_is_left(width: int) -> None:
    file = io.StringIO()
    work(Reporter(Console(file=file, force_terminal=True, width=width, legacy_windows=False)))
    screens = read_screens(file.getvalue())
    left = [line.rstrip() for line in screens[-1] if line.strip()]
    assert len(left) == 3
    if width >= 20:
        assert [re.sub(r"\d+\.\d", "0.0", line) for line in left] == [
            "✓ source  0.0 s", "✓ store  0.0 s", "✓ text  0.0 s",
        ]  # fmt: skip
    assert all(len(line) <= width for screen in screens for line in screen)
    # While it runs: the parts that are finished, the stage and the whole.
    assert max(sum(1 for line in screen if line.strip()) for screen in screens) <= 3 + 2


def test_a_wide_terminal_shows_stage_amount_share_and_rest() -> None:
    file = io.StringIO()
    work(Reporter(Console(file=file, force_terminal=True, width=100, legacy_windows=False)))
    shown = {line.rstrip() for screen in read_screens(file.getvalue()) for line in screen}
    stage = re.compile(r". store: geometry  \d\.\d s  [123]0,000 of 40,000 elements")
    assert any(stage.fullmatch(line) for line in shown)
    whole = re.compile(r"━{24} \d+ %  about \d+(\.\d)? s left  [\d,]+ MB")
    assert any(whole.fullmatch(line) for line in shown)


@pytest.mark.parametrize("kind", ["file", "dumb"])
def test_logs_have_a_line_per_stage_with_times(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    work(Reporter(Console(file=io.StringIO(), force_terminal=kind == "dumb")))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "source: reading … (0 % of all, about 20 s left)"
    assert re.fullmatch(r"source: done in 0\.\d s", lines[1])
    assert re.fullmatch(r"store: geometry … \(\d % of all, about \d+ s left\)", lines[3])
    assert re.fullmatch(r"text: done in 0\.\d s", lines[-1])
    assert len(lines) == 5 + 3
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_a_long_stage_gives_a_sign_of_life_in_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LINE_S", 0.05)
    monkeypatch.setattr(progress, "_LOOK_S", 0.0)
    said: list[str] = []
    with LineReporter(said.append) as reporter:
        reporter.stage("store: reading elements", unit="elements")
        time.sleep(0.1)
        reporter.advance(1_234_567)
    assert re.fullmatch(r"store: reading elements … 1,234,567 elements after 0\.\d s", said[1])


def test_nothing_is_said_of_what_failed_but_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with Reporter(Console(file=io.StringIO())) as reporter:
            reporter.stage("store: geometry")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    assert capsys.readouterr().err == "store: geometry …\n"


def test_the_rest_is_what_was_expected_times_how_much_longer_it_took() -> None:
    plan = Plan(PARTS)
    plan.begin("source", 0.0)
    assert plan.left_s(0.0) == 20.0
    plan.end("source", 2.0)  # twice as long as expected
    plan.begin("store", 2.0)
    assert plan.left_s(2.0) == pytest.approx(2 * 19)
    assert plan.share(2.0) == pytest.approx(2 / 40)
    assert plan.left_s(12.0) == pytest.approx(28)
    # It takes longer than expected: the rest of it is unknown, but not nothing.
    assert plan.left_s(42.0) == pytest.approx(0.1 * 40 + 18)
    plan.end("store", 42.0)
    plan.begin("text", 42.0)  # 42 s for 11 expected
    assert plan.left_s(42.0) == pytest.approx(9 * 42 / 11)
    plan.end("text", 80.0)
    plan.begin("checks", 80.0)
    assert plan.left_s(80.0) == 0.0
    assert plan.share(90.0) == 1.0


def test_parts_side_by_side_take_as_long_as_the_longest_or_all_by_jobs() -> None:
    plan = Plan([("a", 10.0), ("b", 4.0), ("c", 4.0)], jobs=2)
    plan.begin("a", 0.0)
    plan.begin("b", 0.0)
    assert plan.left_s(0.0) == 10.0
    plan = Plan([("a", 10.0), ("b", 9.0), ("c", 9.0)], jobs=2)
    assert plan.left_s(0.0) == 14.0
    plan.begin("a", 0.0)
    plan.begin("b", 0.0)
    plan.end("b", 9.0)
    plan.begin("c", 9.0)
    assert plan.left_s(9.0) == 9.0
    assert plan.share(9.0) == pytest.approx(0.5)


def test_the_share_never_goes_back() -> None:
    plan = Plan(PARTS)
    shares, before = [], ""
    for name, now_s in [("source", 0), ("store", 1), ("store", 9), ("text", 90), ("text", 92)]:
        if name != before:
            plan.end(before, float(now_s))
        plan.begin(name, float(now_s))
        shares.append(plan.share(float(now_s)))
        before = name
    assert all(a <= b for a, b in pairwise(shares))
    assert 0.9 > shares[-1] > 0.5


def test_parts_side_by_side_have_a_line_each() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, legacy_windows=False)
    with Reporter(console) as reporter:
        reporter.plan([("routing", 5.0), ("text", 5.0)], jobs=2)
        for name in ("routing", "text"):
            reporter.lane(name).stage(f"{name}: reading")
        time.sleep(0.3)
        reporter.lane("text").close()
        reporter.lane("routing").stage("routing: writing")
        time.sleep(0.2)
    screens = read_screens(file.getvalue())
    both = [screen for screen in screens if any("routing: reading" in line for line in screen)]
    assert any(any("text: reading" in line for line in screen) for screen in both)
    left = [line.split("  ")[0] for line in screens[-1] if line.strip()]
    assert left == ["✓ text", "✓ routing"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (89, "89 s"), (90, "2 min"), (7_200, "2.0 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    reporter = Reporter(quiet=True)
    for path in (tmp_path / "file" / "run.log", Path("/dev/full")):
        with reporter.log_to(path):
            reporter.stage("store: reading")
            reporter.note("a line")
    with reporter.log_to(tmp_path / "logs" / "run.log"):
        reporter.note("a line")
    assert (tmp_path / "logs" / "run.log").read_text().endswith("Z a line\n")
