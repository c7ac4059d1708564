"""The Redis limiter against a private server, where one is installed."""

from __future__ import annotations

import bisect
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mapyard.accounts.limiter import LocalLimiter
from mapyard.accounts.plans import PLANS, Limits

redis = pytest.importorskip("redis")
SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="needs redis-server or valkey-server")

FREE = PLANS["free"].limits
WIDE_FREE = Limits(10_000, 500, 40, None, overage=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            str(SERVER),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(tmp_path_factory.mktemp("redis")),
        ],
        stdout=subprocess.DEVNULL,
    )
    url = f"redis://127.0.0.1:{port}/0"
    client = redis.Redis.from_url(url)
    for _ in range(100):
        try:
            client.ping()
            break
        except redis.ConnectionError:
            time.sleep(0.05)
    client.close()
    yield url
    process.terminate()
    process.wait(10)


@pytest.fixture
def limiter(server: str, tmp_path: Path) -> Iterator[object]:
    from mapyard.accounts.redis_limiter import RedisLimiter

    client = redis.Redis.from_url(server)
    client.flushdb()
    client.close()
    limiter = RedisLimiter(server, fallback=LocalLimiter(tmp_path))
    yield limiter
    limiter.close()


def ask(limiter: object, limits: Limits, count: int, *, premium: bool = False) -> list[str]:
    check = limiter.check  # type: ignore[attr-defined]
    return [check(1, limits, premium=premium).code for _ in range(count)]


def test_the_minute(limiter: object) -> None:
    first = limiter.check(1, FREE, premium=False)  # type: ignore[attr-defined]
    assert (first.allowed, first.limit, first.remaining, first.local) == (True, 10, 9, False)
    assert 58 <= first.reset_s - time.time() <= 61
    assert ask(limiter, FREE, 10) == [""] * 9 + ["rate_limited"]
    denied = limiter.check(1, FREE, premium=False)  # type: ignore[attr-defined]
    assert (denied.remaining, denied.units) == (0, 0)
    assert 58 <= denied.retry_after_s <= 60
    assert limiter.check(2, FREE, premium=False).allowed  # type: ignore[attr-defined]
    large = limiter.check(1, PLANS["pro-100k"].limits, premium=False)  # type: ignore[attr-defined]
    assert large.remaining == 300 - 11


def test_the_day_and_what_is_given_back(limiter: object) -> None:
    assert ask(limiter, WIDE_FREE, 501).count("") == 500
    decisions = [limiter.check(1, WIDE_FREE, premium=True) for _ in range(11)]  # type: ignore[attr-defined]
    assert [d.code for d in decisions][-2:] == ["", "daily_limit_exceeded"]
    assert 0 < decisions[-1].retry_after_s <= 86_400
    limiter.give_back(decisions[0])  # type: ignore[attr-defined]
    assert ask(limiter, WIDE_FREE, 2, premium=True) == ["", "daily_limit_exceeded"]


def test_the_month(limiter: object) -> None:
    pro = Limits(1_000, None, None, 10, overage=True)
    overage = [limiter.check(1, pro, premium=True).overage for _ in range(5)]  # type: ignore[attr-defined]
    assert overage == [False, False, False, True, True]
    capped = Limits(1_000, None, None, 10, overage=False)
    assert ask(limiter, capped, 1) == ["monthly_limit_exceeded"]


def test_processes_together_admit_exactly_the_limit(
    server: str, limiter: object, tmp_path: Path, hammer: Callable[..., list[float]]
) -> None:
    assert len(hammer(3, tmp_path, 300, 60.0, 0.5, server)) == 300


def test_in_any_window_never_more_than_the_limit(
    server: str, limiter: object, tmp_path: Path, hammer: Callable[..., list[float]]
) -> None:
    admitted = hammer(3, tmp_path, 200, 0.5, 2.0, server)
    most = max(bisect.bisect_left(admitted, at + 0.4) - i for i, at in enumerate(admitted))
    assert most <= 200
    assert len(admitted) >= 600


def test_without_redis_each_machine_goes_on_by_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from mapyard.accounts.redis_limiter import RedisLimiter

    limiter = RedisLimiter("redis://127.0.0.1:1/0", fallback=LocalLimiter(tmp_path))
    assert ask(limiter, FREE, 11) == [""] * 10 + ["rate_limited"]
    assert limiter.is_away
    assert not LocalLimiter(tmp_path).is_away
    assert caplog.text.count("Redis does not answer") == 1
    limiter.close()


def test_what_is_counted_already_takes_units_alone(limiter: object) -> None:
    check = limiter.check  # type: ignore[attr-defined]
    tight = Limits(2, 500, 8, None, overage=False)
    assert ask(limiter, tight, 3) == ["", "", "rate_limited"]
    further = check(1, tight, premium=True, is_counted=True)
    assert (further.allowed, further.units, further.remaining) == (True, 4, 0)
    assert check(1, tight, premium=True, is_counted=True).allowed
    assert check(1, tight, premium=True, is_counted=True).code == "daily_limit_exceeded"
