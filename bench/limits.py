"""Cost of the key check, the limits and the usage record of one request, in CPU time.

Run: `python -m bench.limits`. One process for the cost of each step, four for the checks per
second of one account (all want its lock) and of one account each.
"""

from __future__ import annotations

import multiprocessing
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from mapyard.accounts import registry
from mapyard.accounts.gate import AccountsGate, flush_usage
from mapyard.accounts.limiter import LocalLimiter
from mapyard.accounts.open import open_accounts
from mapyard.accounts.plans import Limits

CALLS = 20_000
#: Above what is reached, with every counter at work: a refusal would cost less than an admission.
WIDE = Limits(1_000_000, 10**9, 10**9, 10**9, overage=True)
SECONDS = 2.0


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        measure_steps(Path(folder))
    for processes, shared in ((1, True), (4, True), (4, False)):
        with tempfile.TemporaryDirectory() as folder:
            measure_rate(Path(folder), processes, shared=shared)


def measure_steps(data: Path) -> None:
    database = open_accounts(data)
    account = registry.create_account(database, "bench@example.org", "enterprise")
    _, key = registry.create_key(database, account.id)
    gate = AccountsGate(database, data)
    identity = msgspec.structs.replace(gate.authenticate(key), limits=WIDE)
    decision = gate.admit(identity, premium=False)
    steps: dict[str, Callable[[], object]] = {
        "find the account of a key": lambda: gate.authenticate(key),
        "admit (window, day, month)": lambda: gate.admit(identity, premium=False),
        "settle (usage record)": lambda: gate.settle(decision, 200, "/api/v1/search", 1.0),
        "admit an address": lambda: gate.admit_address("192.0.2.1"),
    }
    for name, step in steps.items():
        best = min(cpu_us(step) for _ in range(5))
        print(f"{name:32} {best:6.2f} µs CPU")
    begun = time.process_time()
    records = flush_usage(database, data)
    took_us = (time.process_time() - begun) / records * 1e6
    print(f"{'enter a record into the ledger':32} {took_us:6.2f} µs CPU ({records:,} records)")
    gate.close()
    database.close()


def cpu_us(step: Callable[[], object]) -> float:
    begun = time.process_time()
    for _ in range(CALLS):
        step()
    return (time.process_time() - begun) / CALLS * 1e6


def measure_rate(folder: Path, processes: int, *, shared: bool) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool:
        work = [(folder, 1 if shared else i + 1) for i in range(processes)]
        results = pool.starmap(check_for_a_while, work)
    checks = sum(count for count, _ in results)
    cpu = sum(seconds for _, seconds in results) / checks * 1e6
    whose = "one account" if shared else "an account each"
    print(
        f"{processes} process{'es' if processes > 1 else ''}, {whose}: "
        f"{checks / SECONDS:,.0f} checks/s, {cpu:.2f} µs CPU per check"
    )


def check_for_a_while(folder: Path, account_id: int) -> tuple[int, float]:
    limiter = LocalLimiter(folder)
    count, begun = 0, time.process_time()
    end_s = time.monotonic() + SECONDS
    while time.monotonic() < end_s:
        for _ in range(100):
            limiter.check(account_id, WIDE, premium=False)
        count += 100
    return count, time.process_time() - begun


if __name__ == "__main__":
    main()
