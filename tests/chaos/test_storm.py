"""A server under mixed load while everything around it fails: no wrong answer, no lost usage.

`make chaos` runs it for a minute and a half, `CHAOS_S=7200 make chaos` for two hours; CHAOS_SEED
repeats a run's order of events.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from databases import POSTGRESQL, REDIS, Proxy, running_postgresql, running_redis
from mapyard.accounts import registry
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.gate import flush_usage
from mapyard.accounts.models import UsageDay
from mapyard.accounts.open import open_accounts
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import read_manifest, write_manifest
from servers import Server, running

SECONDS = float(os.environ.get("CHAOS_S", "0"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
pytestmark = [
    pytest.mark.skipif(not SECONDS, reason="takes minutes; run: make chaos"),
    pytest.mark.timeout(SECONDS + 300),
]

WORKERS = 3
QUERIES = (
    "/api/v1/features/way/94399684",
    "/api/v1/features/node/1",
    "/api/v1/features?tags=amenity&limit=20",
    "/api/v1/features/nearby?lat=43.7384&lng=7.4246&radius=200&limit=10",
    "/api/v1/overpass?data=node[amenity=cafe];out;&limit=20",
    "/api/v1/overpass?data=way[building];out;&format=ndjson",
    "/api/v1/sparql?query=SELECT%20(COUNT(*)%20AS%20%3Fn)%20%7B%3Fs%20osmkey:amenity%20%3Fo%7D",
)


class Load:
    """Threads that ask and compare each answer with that of a quiet server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.expected = {path: self.ask_quietly(path) for path in QUERIES}
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []
        #: Errors that a client saw, with their times.
        self.broken: list[float] = []
        self.refused: list[tuple[float, int, str]] = []

    def ask_quietly(self, path: str) -> tuple[int, bytes]:
        answer = self.server.get(path)
        return answer.status_code, answer.content

    def run(self, seed: int) -> None:
        chance = random.Random(seed)
        connection = self.connect()
        while not self.stop.is_set():
            path = chance.choice(QUERIES)
            try:
                connection.request("GET", path, headers={"X-API-Key": self.server.key})
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException):
                with self.lock:
                    self.broken.append(time.monotonic())
                connection.close()
                connection = self.connect()
                time.sleep(0.05)
                continue
            with self.lock:
                self.statuses[answer.status] += 1
                if (answer.status, body) != self.expected[path]:
                    note = body[:200].decode(errors="replace")
                    if answer.status in (408, 500, 503):
                        self.refused.append((time.monotonic(), answer.status, f"{path} {note}"))
                    else:
                        self.wrong.append(f"{path}: {answer.status} {note}")
            if chance.random() < 0.05:
                connection.close()  # another worker's turn
        connection.close()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=45)


class Storm:
    """What goes wrong; each event notes when a client may have felt it."""

    def __init__(
        self, server: Server, data: Path, proxies: list[Proxy], seed: int, clock: Path | None
    ) -> None:
        self.server = server
        self.data = data
        self.is_small_disk = os.path.ismount(data.parent)
        self.clock = clock
        self.proxies = proxies
        self.chance = random.Random(seed)
        self.names = Catalog(data).ids()
        self.events: list[tuple[float, float, str]] = []

    def choose(self) -> Callable[[], float]:
        """Return an event: does it, and returns for how long clients may feel it."""
        events = [
            self.kill_worker, self.stop_worker, self.freeze_worker, self.kill_query,
            self.kill_jobs, self.switch,
        ]  # fmt: skip
        events += [self.silence, self.slow_down, self.cut] if self.proxies else [self.lock_sqlite]
        events += [self.forbid_writing]
        if self.is_small_disk:
            events.append(self.fill_disk)
        if self.clock is not None:
            events.append(self.step_clock)
        return self.chance.choice(events)

    def run(self, ends_s: float) -> None:
        while time.monotonic() < ends_s:
            event = self.choose()
            started_s = time.monotonic()
            felt_s = event()
            self.events.append((started_s, time.monotonic() + felt_s, event.__name__))
            time.sleep(self.chance.uniform(0.5, 3.0))

    def wait_for_calm(self) -> None:
        """Return when all workers are back; one that was frozen as it began takes longest."""
        time.sleep(12)
        ends_s = time.monotonic() + 75
        while time.monotonic() < ends_s:
            states = [worker.status() for worker in self.server.workers()]
            if len(states) == WORKERS and psutil.STATUS_STOPPED not in states:
                break
            time.sleep(0.5)
        time.sleep(5)  # a worker opens the dataset

    def worker(self) -> psutil.Process | None:
        found = self.server.workers()
        return self.chance.choice(found) if found else None

    def kill_worker(self) -> float:
        if worker := self.worker():
            worker.kill()
        return 3.0

    def stop_worker(self) -> float:
        """A short stop: nothing may come of it but slow answers."""
        worker = self.worker()
        if worker is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.suspend()
                time.sleep(self.chance.uniform(0.5, 4.0))
                worker.resume()
        return 3.0

    def freeze_worker(self) -> float:
        """A stop for good: the supervisor replaces it."""
        if worker := self.worker():
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.suspend()
        return 16.0

    def kill_query(self) -> float:
        """One of the processes that answer queries, or the one that forks them."""
        worker = self.worker()
        with contextlib.suppress(psutil.NoSuchProcess):
            found = worker.children(recursive=True) if worker is not None else []
            if found:
                self.chance.choice(found).kill()
        return 5.0

    def kill_jobs(self) -> float:
        for child in psutil.Process(self.server.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.name() == "mapyard-jobs":
                    child.kill()
        return 0.0

    def switch(self) -> float:
        current = Catalog(self.data).find_current()
        Catalog(self.data).use(next(name for name in self.names if name != current))
        return 1.0

    def silence(self) -> float:
        proxy = self.chance.choice(self.proxies)
        proxy.is_silent = True
        time.sleep(self.chance.uniform(1.0, 8.0))
        proxy.is_silent = False
        return 3.0

    def slow_down(self) -> float:
        proxy = self.chance.choice(self.proxies)
        proxy.delay_s = 0.1
        time.sleep(self.chance.uniform(1.0, 4.0))
        proxy.delay_s = 0.0
        return 3.0

    def cut(self) -> float:
        self.chance.choice(self.proxies).cut()
        return 3.0

    def lock_sqlite(self) -> float:
        database = open_database(self.data)
        held_s = self.chance.uniform(1.0, min(30.0, SECONDS / 4))
        ends_s = time.monotonic() + 60
        while True:  # a worker that was stopped while it wrote has the lock until it is ended
            try:
                with database.write() as session:
                    session.connection().exec_driver_sql("UPDATE revision SET value = value")
                    time.sleep(held_s)
                break
            except OperationalError:
                if time.monotonic() > ends_s:
                    raise
        database.close()
        return 3.0

    def fill_disk(self) -> float:
        """No byte is left where the data is, for some seconds."""
        filler = self.data.parent / "filler"
        with contextlib.suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(bytes(4_096))
                file.flush()
        time.sleep(self.chance.uniform(1.0, 6.0))
        filler.unlink()
        time.sleep(1.5)  # the usage that was held in memory is written; a kill before would lose it
        return 3.0

    def forbid_writing(self) -> float:
        """Nothing can be made or opened for writing in the data folder, for some seconds."""
        folders = [self.data, *(path for path in self.data.rglob("*") if path.is_dir())]
        files = list(self.data.glob("accounts*"))
        modes = [(path, path.stat().st_mode) for path in (*folders, *files)]
        for path, mode in modes:
            path.chmod(mode & ~0o222)
        time.sleep(self.chance.uniform(1.0, 6.0))
        for path, mode in modes:
            with contextlib.suppress(FileNotFoundError):  # SQLite removes its log
                path.chmod(mode)
        time.sleep(1.5)  # as after a full disk
        return 3.0

    def step_clock(self) -> float:
        """The clock of all processes jumps ahead or back, by up to a day."""
        assert self.clock is not None
        self.clock.write_text(f"{self.chance.randint(-86_400, 86_400):+d}\n")
        return 3.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 256 MB, where one may be mounted; else a plain folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256m,mode=755", "tmpfs", str(folder)]
    is_mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    yield folder
    if is_mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def data(build_once: Callable[..., Path], small_disk: Path) -> Path:
    """Two datasets with the same content."""
    from osm_files import EXAMPLES

    store = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    folder = small_disk / "data"
    shutil.copytree(store, folder, symlinks=True)
    catalog = Catalog(folder)
    first = catalog.find_current()
    assert first is not None
    second = first + "b"
    shutil.copytree(catalog.folder / first, catalog.folder / second, copy_function=os.link)
    manifest = read_manifest(catalog.folder / first)
    manifest.id = second
    (catalog.folder / second / "manifest.json").unlink()
    write_manifest(catalog.folder / second, manifest)
    return folder


def faulty_clock(tmp_path: Path) -> tuple[Path | None, dict[str, str]]:
    """A file that says how wrong the server's clock is, where libfaketime is installed."""
    for library in sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")):
        clock = tmp_path / "clock"
        clock.write_text("+0\n")
        return clock, {
            "LD_PRELOAD": str(library),
            "PYTHONPATH": str(Path(__file__).with_name("clock")),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
    return None, {}


def without_root_rights() -> list[str]:
    """What starts a server for which the modes of files hold, for root too."""
    rights = "-dac_override,-dac_read_search,-fowner"
    return ["setpriv", "--bounding-set", rights] if os.geteuid() == 0 else []


@contextlib.contextmanager
def servers_behind_proxies(tmp_path: Path) -> Iterator[tuple[dict[str, str], list[Proxy]]]:
    """PostgreSQL and Redis, where they are installed, each behind a proxy that can fail."""
    settings: dict[str, str] = {}
    proxies: list[Proxy] = []
    with contextlib.ExitStack() as stack:
        if POSTGRESQL is not None:
            url = stack.enter_context(running_postgresql())
            before, _, port = url.rpartition(":")
            proxies.append(Proxy(int(port.partition("/")[0])))
            settings["MAPYARD_ACCOUNTS_URL"] = f"{before}:{proxies[-1].port}/postgres"
        if REDIS is not None:
            port = stack.enter_context(running_redis(tmp_path))
            proxies.append(Proxy(port))
            settings["MAPYARD_REDIS_URL"] = f"redis://127.0.0.1:{proxies[-1].port}/0"
        yield settings, proxies
        for proxy in proxies:
            proxy.close()


def enter_rest(database: Database, data: Path) -> None:
    """Enter what the server's last seconds left in journals, as its next start would.

    A transaction that was cut off keeps its locks for as long as PostgreSQL waits for it, 20 s.
    """
    for tries_left in range(10, -1, -1):
        try:
            flush_usage(database, data)
        except SQLAlchemyError:
            if not tries_left:
                raise
            time.sleep(3)
        else:
            return


def ledger(database: Database) -> int:
    with database.read() as session:
        return int(session.scalar(select(func.sum(UsageDay.requests))) or 0)


@pytest.mark.parametrize("kind", ["sqlite", "servers"])
def test_a_storm(data: Path, tmp_path: Path, kind: str) -> None:
    seconds = SECONDS / 2
    with contextlib.ExitStack() as stack:
        settings: dict[str, str] = {}
        proxies: list[Proxy] = []
        if kind == "servers":
            settings, proxies = stack.enter_context(servers_behind_proxies(tmp_path))
            if "MAPYARD_ACCOUNTS_URL" not in settings:
                pytest.skip("needs PostgreSQL")
        url = settings.get("MAPYARD_ACCOUNTS_URL")
        database = open_accounts(data, url)
        account = registry.create_account(
            database, "storm@example.org", "enterprise", per_minute_override=2_000_000
        )
        key = registry.create_key(database, account.id)[1]
        log = tmp_path / "storm.log"
        clock, wrong = faulty_clock(tmp_path)
        settings |= {"MAPYARD_TIMEOUT_S": "20", **wrong}
        with running(data, log, WORKERS, before=without_root_rights(), **settings) as server:
            server.key = key
            asked_quietly = len(QUERIES)
            load = Load(server)
            storm = Storm(server, data, proxies, SEED, clock)
            threads = [threading.Thread(target=load.run, args=(i,), daemon=True) for i in range(6)]
            for thread in threads:
                thread.start()
            storm.run(time.monotonic() + seconds)
            storm.wait_for_calm()
            calm_s = time.monotonic()
            time.sleep(3)
            load.stop.set()
            for thread in threads:
                thread.join(60)
            assert len(server.workers()) == WORKERS
        # Who asked is not known of what was refused because the database did not answer.
        unknown = sum("accounts_unavailable" in note for _, _, note in load.refused)
        answered = load.statuses.total() + asked_quietly - unknown
        enter_rest(database, data)
        noted = ledger(database)
        database.close()
    events = Counter(name for _, _, name in storm.events)
    summary = f"seed {SEED}, {kind}: {dict(load.statuses)}, {len(load.broken)} broken, {events}"
    print(summary)  # noqa: T201 - what a run of hours is for
    assert not load.wrong, load.wrong[:5]
    felt = [(start - 0.5, end + 0.5, name) for start, end, name in storm.events]
    for moment, status, note in load.refused:
        assert any(start <= moment <= end for start, end, _ in felt), (status, note)
    for moment in load.broken:
        assert any(start <= moment <= end for start, end, _ in felt)
    assert not [moment for moment in load.broken if moment > calm_s]
    assert load.statuses[200] > 5 * seconds
    # What was answered is noted; a request that broke with its worker may be noted or not.
    assert answered <= noted <= answered + len(load.broken) + len(load.refused)
