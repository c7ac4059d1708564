"""Files that several processes have mapped: nobody makes them shorter under the others' feet."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mapyard.accounts.addresses import AddressLimiter
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.limiter import LocalLimiter
from mapyard.accounts.mapped import MappedWords
from mapyard.accounts.open import open_accounts
from mapyard.accounts.plans import PLANS

HAMMER = """
import sys, time
from pathlib import Path
from mapyard.accounts.addresses import AddressLimiter
limiter = AddressLimiter(Path(sys.argv[1]), int(sys.argv[2]))
print("ready", flush=True)
ends_s = time.monotonic() + 3
count = 0
while time.monotonic() < ends_s:
    limiter.check(f"10.{count % 200}.{count % 77}.{count % 33}")
    count += 1
"""


def test_two_limits_on_one_file_kill_nobody(tmp_path: Path) -> None:
    path = tmp_path / "addresses.limits"
    hammers = []
    for limit in (600, 60, 300):
        hammer = subprocess.Popen(
            [sys.executable, "-c", HAMMER, path, str(limit)], stdout=subprocess.PIPE
        )
        assert hammer.stdout is not None
        assert hammer.stdout.readline() == b"ready\n"
        hammers.append(hammer)
    ends_s = time.monotonic() + 2
    while time.monotonic() < ends_s:
        for limit in (10, 1_000):
            AddressLimiter(path, limit).close()
    assert [hammer.wait(20) for hammer in hammers] == [0, 0, 0]
    for hammer in hammers:
        assert hammer.stdout is not None
        hammer.stdout.close()


def test_servers_with_other_settings_keep_their_own_counts(tmp_path: Path) -> None:
    database = open_accounts(tmp_path)
    gates = [AccountsGate(database, tmp_path, anonymous_per_minute=limit) for limit in (3, 5, 3)]
    for _ in range(3):
        assert gates[0].admit_address("192.0.2.1").allowed
    assert not gates[2].admit_address("192.0.2.1").allowed
    assert gates[1].admit_address("192.0.2.1").allowed
    for gate in gates:
        gate.close()
    database.close()


def test_a_file_that_was_spoiled_is_replaced_for_all(tmp_path: Path) -> None:
    limits = PLANS["free"].limits
    first, second = LocalLimiter(tmp_path), LocalLimiter(tmp_path)
    assert first.check(1, limits, premium=False).allowed
    assert second.check(1, limits, premium=False).remaining == limits.per_minute - 2
    path = tmp_path / "1.limits"
    with path.open("r+b") as file:
        file.write(bytes(8))
    before = path.stat().st_ino
    assert first.check(1, limits, premium=False).remaining == limits.per_minute - 1
    assert path.stat().st_ino != before
    assert second.check(1, limits, premium=False).remaining == limits.per_minute - 2
    first.close()
    second.close()


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.limits"
    old = MappedWords(path, magic=7, length=16)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mapyard.accounts.mapped.os.pwrite", full)
    with pytest.raises(OSError, match="No space"):
        MappedWords(path, magic=8, length=32)
    assert [item.name for item in tmp_path.iterdir()] == ["x.limits"]
    with old:
        old.words[5] = 1
    old.close()
