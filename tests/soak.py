"""Load for an hour: memory and files stay level, limits exact, the ledger is what was answered.

python tests/soak.py --data DATA --seconds 3600 --requests 1000000

Starts a server of two workers on a copy of DATA (with Monaco in it) and asks at an even pace with
several accounts, two of them far above their limits; every answer is compared with the first of its
kind.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from servers import Server, copy_data, running

API: Final = "/api/v1"
#: Requests of the mixture by weight; most are cheap, so that the pace is that of a busy service.
MIXTURE: Final = {
    f"{API}/features/way/94399684": 40,
    f"{API}/features/node/25177418": 20,
    f"{API}/tiles/14/8529/5974.mvt": 20,
    f"{API}/features/nearby?lat=43.7384&lng=7.4246&tags[amenity]=cafe": 4,
    f"{API}/geocode?q=Rue%20Grimaldi%205,%20Monaco": 3,
    f"{API}/geocode/autocomplete?q=rue%20grim": 3,
    f"{API}/geocode/reverse?lat=43.7384&lng=7.4246": 4,
    f"{API}/search?q=monte%20carlo&limit=5": 2,
    f"{API}/nearest?lat=43.7384&lng=7.4246": 2,
    f"{API}/overpass?data=node[amenity=cafe](43.73,7.41,43.75,7.43);out;&limit=5": 1,
    f"{API}/features/node/1": 1,
}
#: Limits per minute of the accounts that ask for three times as much.
LIMITED: Final = (60, 300)
_CONNECTIONS: Final = 24
_SAMPLE_S: Final = 15.0
_WINDOW_S: Final = 60.0


class Account(NamedTuple):
    """Who asks: an account, its key and its limit per minute."""

    id: int
    key: str
    per_minute: int


class Sample(NamedTuple):
    """What the workers hold at a moment."""

    at_s: float
    memory_mb: float
    files: int


@dataclass
class Report:
    """What happened."""

    requests: int = 0
    seconds: float = 0.0
    answers: Counter[tuple[int, int]] = field(default_factory=Counter)  # account, status
    wrong: list[str] = field(default_factory=list)
    broken: int = 0
    #: Per limited account: when each admitted request was sent and its answer had arrived.
    admitted: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)

    def most_in_a_window(self, account: int) -> int:
        """Return the most requests that were certainly admitted within 60 s of each other.

        Certainly: the first was sent, and the last answered, within the window.
        """
        times = sorted(self.admitted.get(account, ()))
        ends = sorted(end for _, end in times)
        most = 0
        for place, (begin, _) in enumerate(times):
            inside = sum(1 for b, e in times[place : place + 2_000] if e <= begin + _WINDOW_S)
            most = max(most, inside)
            if place + most > len(ends):
                break
        return most

    def growth(self) -> tuple[float, int]:
        """Return how much memory (share) and how many files the last third has over the second."""
        third = max(1, len(self.samples) // 3)
        before, after = self.samples[third : 2 * third], self.samples[2 * third :]
        memory = max(s.memory_mb for s in after) / max(s.memory_mb for s in before) - 1
        return memory, max(s.files for s in after) - max(s.files for s in before)


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, key: str
) -> tuple[int, bytes]:
    """Return status and body of a GET on an open connection."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    if headers.get(b"transfer-encoding") == b"chunked":
        parts = []
        while size := int((await reader.readline()).strip() or b"0", 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readline()
        body = b"".join(parts)
    else:
        body = await reader.readexactly(int(headers.get(b"content-length", b"0")))
    return int(lines[0].split()[1]), body


async def soak(server: Server, accounts: list[Account], seconds: float, requests: int) -> Report:
    """Ask at an even pace and return what happened."""
    report = Report()
    report.admitted = {a.id: [] for a in accounts if a.per_minute in LIMITED}
    first: dict[str, tuple[int, bytes]] = {}
    rng = random.Random(1)
    paths, weights = list(MIXTURE), list(MIXTURE.values())
    started_s = time.monotonic()
    jobs = _schedule(accounts, requests / seconds, seconds)

    async def work() -> None:
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        asked = 0
        for at_s, account in jobs:
            await asyncio.sleep(max(0.0, started_s + at_s - time.monotonic()))
            path = rng.choices(paths, weights)[0]
            sent_s = time.monotonic()
            try:
                if connection is None:
                    connection = await asyncio.open_connection("127.0.0.1", server.port)
                status, body = await ask(*connection, path, account.key)
            except (OSError, asyncio.IncompleteReadError):
                report.broken += 1
                connection = None
                continue
            done_s = time.monotonic()
            report.requests += 1
            report.answers[account.id, status] += 1
            if status == 429:
                continue
            if account.id in report.admitted:
                report.admitted[account.id].append((sent_s, done_s))
            found = status, blake2b(body, digest_size=16).digest()
            if first.setdefault(path, found) != found and len(report.wrong) < 20:
                report.wrong.append(f"{path}: {status} {body[:200]!r}")
            asked += 1
            if asked % 500 == 0:  # another worker's turn
                connection[1].close()
                connection = None
        if connection is not None:
            connection[1].close()

    watcher = asyncio.create_task(_watch(server, report, started_s, seconds))
    await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))
    await watcher
    report.seconds = time.monotonic() - started_s
    return report


def _schedule(
    accounts: list[Account], per_second: float, seconds: float
) -> Iterator[tuple[float, Account]]:
    """Yield when which account asks: the limited ones three times as often as they may."""
    limited = [a for a in accounts if a.per_minute in LIMITED]
    others = [a for a in accounts if a.per_minute not in LIMITED]
    count = int(per_second * seconds)
    shares = [min(0.3, 3 * a.per_minute / 60 / per_second) for a in limited]
    rng = random.Random(2)
    turn = itertools.cycle(others)
    for index in range(count):
        drawn = rng.random()
        chosen: Account | None = None
        for account, share in zip(limited, shares, strict=True):
            if drawn < share:
                chosen = account
                break
            drawn -= share
        yield index / per_second, chosen or next(turn)


async def _watch(server: Server, report: Report, started_s: float, seconds: float) -> None:
    every_s = min(_SAMPLE_S, seconds / 12)
    while time.monotonic() - started_s < seconds:
        workers = server.workers()
        memory = sum(_own_bytes(worker) for worker in workers)
        files = sum(worker.num_fds() - len(worker.net_connections()) for worker in workers)
        at_s = time.monotonic() - started_s
        report.samples.append(Sample(at_s, memory / 1e6, files))
        print(f"{at_s:7.0f} s {report.requests:9,} requests {memory / 1e6:7.0f} MB {files:4} files",
              flush=True)  # fmt: skip
        await asyncio.sleep(every_s)


def _own_bytes(process: psutil.Process) -> int:
    """Return the memory that is the process's own: what it maps of files is shared."""
    return int(process.memory_full_info().uss)


def make_accounts(data: Path) -> list[Account]:
    """Return three accounts without a bound to speak of, and the limited ones."""
    from mapyard.accounts import registry
    from mapyard.accounts.open import open_accounts

    database = open_accounts(data)
    made = []
    for number, per_minute in enumerate((1_000_000, 1_000_000, 1_000_000, *LIMITED)):
        account = registry.create_account(database, f"soak{number}@example.org", "enterprise")
        registry.change_account(
            database, account.id, action="limits", per_minute_override=per_minute
        )
        _, key = registry.create_key(database, account.id)
        made.append(Account(account.id, key, per_minute))
    database.close()
    return made


def ledger_of(data: Path) -> Counter[tuple[int, int]]:
    """Return the requests of the ledger by account and status."""
    from sqlalchemy import func, select

    from mapyard.accounts.database import open_database
    from mapyard.accounts.models import UsageDay

    database = open_database(data)
    with database.read() as session:
        rows = session.execute(
            select(UsageDay.account_id, UsageDay.status, func.sum(UsageDay.requests)).group_by(
                UsageDay.account_id, UsageDay.status
            )
        ).all()
    database.close()
    return Counter({(account, status): int(count) for account, status, count in rows})


def run(data: Path, seconds: float, requests: int) -> tuple[Report, list[str]]:
    """Soak a server on a data folder (which is changed); return the report and what is wrong."""
    accounts = make_accounts(data)
    with running(data, data.parent / "soak.log", workers=2) as server:
        report = asyncio.run(soak(server, accounts, seconds, requests))
    faults = [f"wrong answer: {wrong}" for wrong in report.wrong]
    if report.broken:
        faults.append(f"{report.broken} connections broke")
    for account in accounts:
        if account.per_minute in LIMITED:
            most = report.most_in_a_window(account.id)
            print(f"limit {account.per_minute}: at most {most} within 60 s")
            if most > account.per_minute:
                faults.append(f"{most} admitted in 60 s, the limit is {account.per_minute}")
        elif report.answers[account.id, 429]:
            faults.append(f"{report.answers[account.id, 429]} refused of an account without bound")
    ledger = ledger_of(data)
    for (account_id, status), count in report.answers.items():
        if ledger[account_id, status] != count:
            faults.append(f"account {account_id}, {status}: {count} answered, "
                          f"{ledger[account_id, status]} in the ledger")  # fmt: skip
    memory, files = report.growth()
    print(f"{report.requests:,} requests in {report.seconds:,.0f} s; in the last third memory "
          f"{memory:+.1%}, files {files:+}")  # fmt: skip
    if memory > 0.05:
        faults.append(f"memory grew by {memory:.1%} in the last third")
    if files > 4:
        faults.append(f"{files} more files are open in the last third")
    return report, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seconds", type=float, default=3_600)
    parser.add_argument("--requests", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = copy_data(options.data, Path(folder) / "data")
        for name in ("accounts.sqlite", "accounts.sqlite-wal", "accounts.sqlite-shm"):
            (data / name).unlink(missing_ok=True)
        _, faults = run(data, options.seconds, options.requests)
    for fault in faults:
        print(f"FAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
