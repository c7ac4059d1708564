"""Databases that fall silent, and a log that nobody reads: nothing of it may hold the loop."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import DatabaseError

from attack.doors import Door, open_door
from databases import POSTGRESQL, REDIS, Proxy, running_postgresql, running_redis
from mapyard.accounts import redis_limiter, registry
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.open import open_accounts
from mapyard.http.access_log import AccessLog

pytestmark = pytest.mark.xdist_group("postgresql")


def seconds_of_health(door: Door) -> float:
    started_s = time.monotonic()
    assert door.is_well()
    return time.monotonic() - started_s


def in_background(door: Door, key: str, count: int = 1) -> tuple[list[threading.Thread], list[int]]:
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(door.echo(key)[0])) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    return threads, statuses


@pytest.fixture
def proxy() -> Iterator[tuple[Proxy, str]]:
    if POSTGRESQL is None:
        pytest.skip("needs PostgreSQL")
    with running_postgresql() as url:
        before, _, port = url.rpartition(":")
        proxy = Proxy(int(port.partition("/")[0]))
        yield proxy, f"{before}:{proxy.port}/postgres"
        proxy.close()


def make_key(database: Database, email: str) -> str:
    account = registry.create_account(database, email, "enterprise")
    return registry.create_key(database, account.id)[1]


def test_a_silent_postgresql(proxy: tuple[Proxy, str], tmp_path: Path) -> None:
    server, url = proxy
    database = open_accounts(tmp_path, url)
    known, unknown = make_key(database, "a@example.org"), make_key(database, "b@example.org")
    database.close()
    limited = open_database(tmp_path, url, limit_s=2.0)
    with open_door(tmp_path, database=limited) as door:
        assert door.echo(known)[0] == 200
        server.is_silent = True
        threads, statuses = in_background(door, unknown, 8)
        for _ in range(20):
            assert seconds_of_health(door) < 0.5
            status, took_s = door.echo(known)
            assert status == 200
            assert took_s < 0.5
        for thread in threads:
            thread.join(20)
        assert statuses == [503] * 8
        assert door.application.services.accounts is not None
        assert door.application.services.accounts.is_database_silent
        server.is_silent = False
        ends_s = time.monotonic() + 15
        while (status := door.echo(unknown)[0]) != 200 and time.monotonic() < ends_s:
            time.sleep(0.1)
        assert status == 200
    limited.close()


def test_a_statement_without_an_answer_ends(proxy: tuple[Proxy, str], tmp_path: Path) -> None:
    server, url = proxy
    database = open_database(tmp_path, url, limit_s=1.0)
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    server.is_silent = True
    started_s = time.monotonic()
    with (
        pytest.raises(Exception, match=r"no answer within 1 s|timeout"),
        database.read() as session,
    ):
        session.connection()
    assert time.monotonic() - started_s < 9
    server.is_silent = False
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 2").scalar() == 2
        with pytest.raises(Exception, match=r"timeout|no answer"):
            connection.exec_driver_sql("SELECT pg_sleep(30)")
    database.close()


CUT_OFF = """
import os, socket, struct, sys
from mapyard.accounts.database import open_database
from pathlib import Path
connection = open_database(Path(sys.argv[2]), sys.argv[1]).engine.raw_connection().driver_connection
connection.execute("SELECT value FROM revision FOR UPDATE")
with connection.pipeline():
    connection.execute("UPDATE revision SET value = value")
    connection.pgconn.send_flush_request()
    connection.pgconn.flush()
    print("locked", flush=True)
    sys.stdin.readline()
    handle = socket.socket(fileno=os.dup(connection.fileno()))
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os._exit(9)
"""


def test_locks_of_a_client_cut_off_in_a_batch_are_freed(
    proxy: tuple[Proxy, str], tmp_path: Path
) -> None:
    _, url = proxy
    database = open_accounts(tmp_path, url)
    program = [sys.executable, "-c", CUT_OFF, url, str(tmp_path)]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "locked\n"
        with database.engine.begin() as other:
            other.exec_driver_sql("SET LOCAL lock_timeout = '500ms'")
            with pytest.raises(DatabaseError, match="lock timeout"):
                other.exec_driver_sql("UPDATE revision SET value = value")
        client.communicate("go\n", 20)
        assert client.returncode == 9
    with database.write() as session:
        session.connection().exec_driver_sql("UPDATE revision SET value = value")
    database.close()


def test_the_server_looks_whether_its_client_is_there(
    proxy: tuple[Proxy, str], tmp_path: Path
) -> None:
    database = open_database(tmp_path, proxy[1])
    with database.engine.connect() as connection:
        found = [
            connection.exec_driver_sql(f"SHOW tcp_{name}").scalar()
            for name in ("keepalives_idle", "keepalives_interval", "keepalives_count")
        ]
    database.close()
    assert found == ["10", "5", "3"]


@pytest.mark.skipif(REDIS is None, reason="needs redis-server or valkey-server")
def test_a_silent_redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than a busy machine holds up an answer that waits for nothing.
    monkeypatch.setattr(redis_limiter, "_TIMEOUT_S", 2.0)
    database = open_accounts(tmp_path)
    key = make_key(database, "a@example.org")
    with running_redis(tmp_path) as port:
        proxy = Proxy(port)
        url = f"redis://127.0.0.1:{proxy.port}/0"
        with open_door(tmp_path, database=database, redis_url=url) as door:
            assert door.echo(key)[0] == 200
            proxy.is_silent = True
            for _ in range(5):
                threads, statuses = in_background(door, key, 4)
                assert seconds_of_health(door) < 1.5
                for thread in threads:
                    thread.join(20)
                assert statuses == [200] * 4
            assert sorted(door.echo(key)[1] for _ in range(10))[5] < 1.0
        proxy.close()
    database.close()


def test_a_locked_sqlite(tmp_path: Path) -> None:
    database = open_accounts(tmp_path)
    known, unknown = make_key(database, "a@example.org"), make_key(database, "b@example.org")
    with open_door(tmp_path, database=database) as door:
        assert door.echo(known)[0] == 200
        with database.write() as session:
            session.connection().exec_driver_sql("UPDATE revision SET value = value")
            for _ in range(5):
                assert seconds_of_health(door) < 0.5
                assert door.echo(known)[0] == 200
            assert door.echo(unknown)[0] == 200
    database.close()


def test_a_log_that_nobody_reads(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    log = AccessLog(writer)
    with open_door(tmp_path, access_log=log) as door:
        door.echo("")
        for _ in range(200_000):
            log.write(text="a" * 100)
        assert seconds_of_health(door) < 0.5
        assert log.lost > 10_000
        door.application.note_state()
        os.close(reader)
    os.close(writer)
