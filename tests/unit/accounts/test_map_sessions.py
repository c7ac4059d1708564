from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mapyard.accounts.errors import MustAsk
from mapyard.accounts.map_sessions import MapSessionRefused, MapSessions
from mapyard.accounts.plans import Limits, get_plan

FREE = get_plan("free").limits
SMALL = Limits(10, None, None, None, overage=False, map_tiles=3)
SECRET = b"s" * 32


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0

    def monotonic_ns(self) -> int:
        return int(self.now_s * 1e9)


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[[], MapSessions]


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Iterator[Make]:
    made: list[MapSessions] = []

    def build(secret: bytes = SECRET) -> MapSessions:
        sessions = MapSessions(
            tmp_path / "maps", secret, clock=lambda: clock.now_s, monotonic_ns=clock.monotonic_ns
        )
        made.append(sessions)
        return sessions

    yield build
    for sessions in made:
        sessions.close()


def test_a_token_names_account_key_and_end(make: Make, clock: Clock) -> None:
    token, ends_s = make().begin(7, 3)
    read = make().read(token)  # another worker reads it without asking
    assert (read.account_id, read.key_id, read.ends_s) == (7, 3, ends_s)
    assert ends_s == clock.now_s + 900
    clock.now_s += 900
    with pytest.raises(MapSessionRefused, match="over"):
        make().read(token)


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1],
        lambda token: token + "0",
        lambda token: token.replace("7.", "8.", 1),
        lambda token: "",
        lambda token: "ms_",
        lambda token: "ms_ä.ö.ü.1",
        lambda token: "1.2.3.4.5.6.7",
    ],
)
def test_what_was_not_signed_here_is_refused(make: Make, change: Callable[[str], str]) -> None:
    token, _ = make().begin(7, 3)
    with pytest.raises(MapSessionRefused, match="not valid"):
        make().read(change(token))


def test_another_secret_signs_otherwise(make: Callable[..., MapSessions]) -> None:
    token, _ = make().begin(7, 3)
    with pytest.raises(MapSessionRefused):
        make(b"t" * 32).read(token)


def test_tiles_are_counted_over_all_workers_and_nothing_else_is(make: Make) -> None:
    one, other = make(), make()
    session = one.read(one.begin(7, 0)[0])
    assert one.check(session, SMALL, is_tile=False).allowed
    assert all(worker.check(session, SMALL, is_tile=True).allowed for worker in (one, other, one))
    refused = other.check(session, SMALL, is_tile=True)
    assert (refused.allowed, refused.code, refused.error().status) == (
        False, "map_session_used_up", 429,
    )  # fmt: skip
    assert other.check(session, SMALL, is_tile=False).allowed
    fresh = one.read(one.begin(7, 0)[0])
    assert one.check(fresh, SMALL, is_tile=True).allowed


def test_a_minute_of_its_own(make: Make, clock: Clock) -> None:
    sessions = make()
    session = sessions.read(sessions.begin(7, 0)[0])
    decisions = [sessions.check(session, FREE, is_tile=True) for _ in range(301)]
    assert [d.allowed for d in decisions] == [True] * 300 + [False]
    assert (decisions[0].limit, decisions[0].remaining, decisions[0].units) == (300, 299, 0)
    assert (decisions[300].code, decisions[300].retry_after_s) == ("rate_limited", 60)
    clock.now_s += 60
    later = [sessions.check(session, FREE, is_tile=True) for _ in range(201)]
    assert [d.code for d in later] == [""] * 200 + ["map_session_used_up"]


def test_a_large_plan_s_window_grows(make: Make) -> None:
    sessions = make()
    session = sessions.read(sessions.begin(7, 0)[0])
    large = get_plan("pro-100k").limits
    allowed = [sessions.check(session, large, is_tile=False).allowed for _ in range(3_001)]
    assert allowed == [True] * 3_000 + [False]


def test_what_waits_for_the_disk_is_told(make: Make) -> None:
    sessions = make()
    session = sessions.read(sessions.begin(7, 0)[0])
    with pytest.raises(MustAsk):
        sessions.check(session, FREE, is_tile=True, may_wait=False)
    sessions.check(session, FREE, is_tile=True)
    assert sessions.check(session, FREE, is_tile=True, may_wait=False).allowed


def test_files_of_sessions_that_are_over_are_deleted(
    make: Make, clock: Clock, tmp_path: Path
) -> None:
    sessions = make()
    for _ in range(3):
        sessions.check(sessions.read(sessions.begin(7, 0)[0]), FREE, is_tile=True)
    clock.now_s += 300
    live = sessions.read(sessions.begin(7, 0)[0])
    sessions.check(live, FREE, is_tile=True)
    clock.now_s += 700
    sessions.begin(7, 0)
    assert [live.name in path.name for path in (tmp_path / "maps").iterdir()] == [True]


HAMMER = """
import sys
from pathlib import Path
from mapyard.accounts.map_sessions import MapSessions
from mapyard.accounts.plans import Limits
sessions = MapSessions(Path(sys.argv[1]), b"s" * 32)
session = sessions.read(sys.argv[2])
limits = Limits(10_000, None, None, None, overage=False, map_tiles=500)
print(sum(sessions.check(session, limits, is_tile=True).allowed for _ in range(400)))
"""


def test_processes_at_once_show_exactly_as_many_tiles_as_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "maps"
    token, _ = MapSessions(folder, SECRET).begin(7, 0)
    command = [sys.executable, "-c", HAMMER, str(folder), token]
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in itertools.repeat(0, 3)
    ]
    assert sum(int(worker.communicate()[0]) for worker in workers) == 500
