from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mapyard.accounts.database import FILE_NAME, Database, open_database
from mapyard.accounts.open import open_accounts


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file to copy: the migrations take half a second."""
    folder = tmp_path_factory.mktemp("accounts")
    open_accounts(folder).close()
    return folder / FILE_NAME


@pytest.fixture
def database(tmp_path: Path, empty_database: Path) -> Iterator[Database]:
    shutil.copy(empty_database, tmp_path / FILE_NAME)
    database = open_database(tmp_path)
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
