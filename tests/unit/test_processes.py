"""Tasks in processes: in order, not too far ahead, and ended with who asked for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mapyard.processes import map_in_processes

_factor = 0


def prepare(factor: int) -> None:
    global _factor
    _factor = factor


def work(task: int) -> tuple[int, int]:
    time.sleep(0.02 * (task % 3))
    return task * _factor, os.getpid()


def fail(task: int) -> int:
    raise ValueError(f"task {task}")


def test_results_come_in_the_order_of_tasks() -> None:
    found = list(map_in_processes(work, range(30), 2, prepare, (7,)))
    assert [value for value, _ in found] == [7 * task for task in range(30)]
    assert os.getpid() not in {process for _, process in found}
    assert list(map_in_processes(work, [], 2, prepare, (7,))) == []


def test_few_tasks_are_taken_ahead() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(100):
            taken.append(task)
            yield task

    results = map_in_processes(work, tasks(), 2, prepare, (1,))
    assert next(results)[0] == 0
    assert len(taken) <= 8
    results.close()  # type: ignore[attr-defined]


def test_what_fails_is_told() -> None:
    with pytest.raises(ValueError, match="task 3"):
        list(map_in_processes(fail, [3], 2, prepare, (1,)))


PROGRAM = """
import time
from mapyard.processes import map_in_processes
if __name__ == "__main__":
    results = map_in_processes(time.sleep, [0.0] + [100.0] * 9, 2, time.sleep, (0.0,))
    next(results)
    print("ready", flush=True)
    time.sleep(100)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_they_end_when_who_asked_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
            children = [int(child) for task in tasks for child in task.read_text().split()]
            assert len(children) >= 2
        finally:
            process.send_signal(signal.SIGKILL)
    until_s = time.monotonic() + 30
    while (left := [child for child in children if is_running(child)]) and (
        time.monotonic() < until_s
    ):
        time.sleep(0.05)
    assert left == []


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
