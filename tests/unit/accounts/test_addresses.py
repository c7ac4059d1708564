from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mapyard.accounts.addresses import AddressLimiter, network_of


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., AddressLimiter]:
    now_ns = [10**12]

    def build(limit: int = 3) -> AddressLimiter:
        limiter = AddressLimiter(
            tmp_path / "a.limits", limit, clock=lambda: 1000.0, monotonic_ns=lambda: now_ns[0]
        )
        limiter.now_ns = now_ns  # type: ignore[attr-defined]  # for the test to move
        return limiter

    return build


def test_so_many_a_minute_per_address(make: Callable[..., AddressLimiter]) -> None:
    limiter = make()
    assert [limiter.check("192.0.2.1").remaining for _ in range(3)] == [2, 1, 0]
    denied = limiter.check("192.0.2.1")
    assert (denied.allowed, denied.code, denied.retry_after_s) == (False, "rate_limited", 60)
    assert limiter.check("192.0.2.2").allowed
    limiter.now_ns[0] += 60 * 10**9  # type: ignore[attr-defined]
    assert limiter.check("192.0.2.1").allowed


def test_all_processes_share_the_file(make: Callable[..., AddressLimiter]) -> None:
    first, second = make(), make()
    for limiter in (first, second, first):
        limiter.check("192.0.2.1")
    assert not second.check("192.0.2.1").allowed


def test_looking_takes_nothing(make: Callable[..., AddressLimiter]) -> None:
    limiter = make()
    assert limiter.check("192.0.2.1", take=False).remaining == 3
    assert limiter.check("192.0.2.1").remaining == 2


def test_a_flood_of_addresses_keeps_the_file_at_its_size(
    make: Callable[..., AddressLimiter], tmp_path: Path
) -> None:
    limiter = make()
    size = (tmp_path / "a.limits").stat().st_size
    for i in range(20_000):
        limiter.check(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}")
    assert (tmp_path / "a.limits").stat().st_size == size
    assert limiter.check("192.0.2.1").allowed


def test_another_limit_begins_a_new_file(make: Callable[..., AddressLimiter]) -> None:
    make(3).check("192.0.2.1")
    assert make(5).check("192.0.2.1").remaining == 4


def test_what_is_counted_together() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2")
    assert network_of("2001:db8:0:1::1") != network_of("2001:db8::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1")
    assert network_of("fe80::1%eth0") == network_of("fe80::2")
    assert network_of("unix") == b"unix"
