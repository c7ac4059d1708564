"""Other users of the machine: what they may read in the data folder, and whose folder is served."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import FILE_NAME, open_database
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.open import open_accounts
from mapyard.accounts.secret import read_secret
from mapyard.dataset.catalog import Catalog
from mapyard.private import UnsafeFolder

COMMAND = Path(sys.executable).with_name("mapyard")


@pytest.fixture(autouse=True)
def _open_umask() -> object:
    """The usual umask of a service: without care, everybody may read what is made."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nobody_else_reads_accounts_secret_limits_and_usage(tmp_path: Path) -> None:
    data = tmp_path / "data"
    database = open_accounts(data)
    registry.create_account(database, "me@example.org")
    gate = AccountsGate(database, data)
    read_secret(data)
    found = sorted(path.name for path in data.iterdir() if path.name.startswith(FILE_NAME))
    assert found == [FILE_NAME, f"{FILE_NAME}-shm", f"{FILE_NAME}-wal"]
    for name in (*found, "secret"):
        assert mode(data / name) == 0o600, name
    for folder in ("limits", "usage"):
        assert mode(data / folder) == 0o700, folder
        assert {mode(path) for path in (data / folder).rglob("*") if path.is_file()} <= {0o600}
    gate.close()
    database.close()


def test_what_an_older_version_left_open_is_closed(tmp_path: Path) -> None:
    open_accounts(tmp_path).close()
    (tmp_path / FILE_NAME).chmod(0o644)
    (tmp_path / "limits").mkdir(mode=0o755)
    read_secret(tmp_path)
    (tmp_path / "secret").chmod(0o644)
    database = open_database(tmp_path)
    AccountsGate(database, tmp_path).close()
    read_secret(tmp_path)
    assert [mode(tmp_path / name) for name in (FILE_NAME, "secret", "limits")] == [
        0o600, 0o600, 0o700,
    ]  # fmt: skip
    database.close()


def test_a_folder_that_anybody_may_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UnsafeFolder, match=r"anybody may write.*chmod o-w"):
        open_database(tmp_path)
    with pytest.raises(UnsafeFolder):
        open_database(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(UnsafeFolder):
        Catalog(tmp_path)


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path.stat().st_uid
    if owner == 0:
        os.chown(tmp_path, 4_711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(UnsafeFolder, match=r"belongs to the user .*; run this as"):
        open_database(tmp_path)


@pytest.mark.parametrize("command", [["serve"], ["accounts", "list"], ["datasets", "list"]])
def test_commands_say_so_in_one_line(tmp_path: Path, command: list[str]) -> None:
    tmp_path.chmod(0o757)
    done = subprocess.run(
        [COMMAND, *command, "--data", tmp_path],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"mapyard: anybody may write into the data folder {tmp_path}")
