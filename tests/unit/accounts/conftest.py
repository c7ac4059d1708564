from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mapyard.accounts.database import Database
from mapyard.accounts.open import open_accounts


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    yield database
    database.close()


@pytest.fixture
def hammer() -> Callable[..., list[float]]:
    """Run hammer.py in so many processes; return the times of all admissions, sorted."""

    def run(processes: int, *arguments: object) -> list[float]:
        command = [sys.executable, str(Path(__file__).with_name("hammer.py"))]
        command += [str(argument) for argument in arguments]
        running = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=60)[0] for process in running]
        assert all(process.returncode == 0 for process in running)
        return sorted(at for output in outputs for at in json.loads(output))

    return run
