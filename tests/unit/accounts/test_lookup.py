from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.lookup import AccountSuspended, KeyLookup, KeyRefused
from mapyard.accounts.models import Account
from mapyard.accounts.plans import PLANS


@pytest.fixture
def account(database: Database) -> Account:
    return registry.create_account(database, "Me@Example.org")


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_key_finds_its_account(database: Database, account: Account) -> None:
    key, secret = registry.create_key(database, account.id, "test", "shop")
    found = KeyLookup(database).find_account_by_key(secret)
    assert (found.account_id, found.key_id, found.plan) == (account.id, key.id, "free")
    assert found.limits is PLANS["free"].limits
    assert found.masked_key == f"pk_test_…{secret[-4:]}"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (None, "missing_key"),
        ("", "missing_key"),
        ("pk_live_x", "invalid_key"),
        ("é", "invalid_key"),
    ],
)
def test_refusals(database: Database, raw: str | None, code: str) -> None:
    with pytest.raises(KeyRefused) as caught:
        KeyLookup(database).find_account_by_key(raw)
    error = caught.value
    assert (error.status, error.code) == (401, code)
    assert error.headers == {"WWW-Authenticate": "Bearer"}


def test_a_mistyped_key_needs_no_database(database: Database, account: Account) -> None:
    _, secret = registry.create_key(database, account.id)
    lookup = KeyLookup(database)
    lookup.find_account_by_key(secret)
    with sqlite3.connect(str(database.engine.url.database)) as raw:
        raw.execute("DROP TABLE keys")
    raw.close()
    wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    with pytest.raises(KeyRefused, match="copied whole"):
        lookup.find_account_by_key(wrong)


def test_changes_are_seen_within_half_a_second(database: Database, account: Account) -> None:
    clock = Clock()
    lookup = KeyLookup(database, monotonic=clock)
    key, secret = registry.create_key(database, account.id)
    assert lookup.find_account_by_key(secret).plan == "free"
    registry.change_account(database, account.id, action="account.plan", plan="pro-1m")
    assert lookup.find_account_by_key(secret).plan == "free"
    clock.now_s += 0.5
    assert lookup.find_account_by_key(secret).limits.per_minute == 2_000
    registry.change_account(database, account.id, action="account.suspend", suspended_at=1)
    clock.now_s += 0.5
    with pytest.raises(AccountSuspended):
        lookup.find_account_by_key(secret)
    registry.change_account(database, account.id, action="account.resume", suspended_at=None)
    registry.revoke_key(database, account.id, key.id)
    clock.now_s += 0.5
    with pytest.raises(KeyRefused) as caught:
        lookup.find_account_by_key(secret)
    assert caught.value.code == "revoked_key"


def test_a_change_by_hand_is_seen_within_a_minute(database: Database, account: Account) -> None:
    clock = Clock()
    lookup = KeyLookup(database, monotonic=clock)
    _, secret = registry.create_key(database, account.id)
    lookup.find_account_by_key(secret)
    with sqlite3.connect(str(database.engine.url.database)) as raw:
        raw.execute("UPDATE keys SET revoked_at = 1")
    raw.close()
    clock.now_s += 60
    with pytest.raises(KeyRefused):
        lookup.find_account_by_key(secret)


def test_known_keys_go_on_while_the_database_is_away(
    database: Database,
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    lookup = KeyLookup(database, monotonic=clock)
    _, secret = registry.create_key(database, account.id)
    lookup.find_account_by_key(secret)
    with sqlite3.connect(str(database.engine.url.database)) as raw:
        raw.execute("DROP TABLE revision")
    raw.close()
    clock.now_s += 1
    assert lookup.find_account_by_key(secret).account_id == account.id
    assert "does not answer" in caplog.text


WATCH = """
import sys, time
from pathlib import Path
from mapyard.accounts.database import open_database
from mapyard.accounts.lookup import KeyLookup, KeyRefused
lookup = KeyLookup(open_database(Path(sys.argv[1])))
secret = sys.stdin.readline().strip()
lookup.find_account_by_key(secret)
print("ready", flush=True)
while True:
    try:
        lookup.find_account_by_key(secret)
    except KeyRefused as error:
        print(error.code, time.time(), flush=True)
        break
    time.sleep(0.005)
"""


def test_a_revoked_key_stops_within_two_seconds_in_all_processes(
    tmp_path: Path, database: Database, account: Account
) -> None:
    key, secret = registry.create_key(database, account.id)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WATCH, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(secret + "\n")
        worker.stdin.flush()
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    registry.revoke_key(database, account.id, key.id)
    revoked_s = time.time()
    for worker in workers:
        code, at = worker.communicate(timeout=20)[0].split()
        assert code == "revoked_key"
        assert float(at) - revoked_s < 2


def test_no_plain_key_in_database_or_log(
    tmp_path: Path, database: Database, account: Account, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    key, secret = registry.create_key(database, account.id, name="shop")
    gate = AccountsGate(database, tmp_path)
    decision = gate.admit(gate.authenticate(secret), premium=False)
    gate.settle(decision, 200, "/api/v1/search", 1.0)
    registry.revoke_key(database, account.id, key.id)
    gate.close()
    database.close()
    needle = secret.removeprefix("pk_live_")[:12].encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 4
    assert not [path for path in files if needle in path.read_bytes()]
    assert needle.decode() not in caplog.text
