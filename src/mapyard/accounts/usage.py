"""Enter the workers' usage journals into the ledger, each record exactly once.

How far a journal was entered is stored in the same transaction as the sums, so a crash at any
moment neither loses nor doubles a record. One process per machine does this every few seconds.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from mapyard.accounts.database import Database
from mapyard.accounts.journal import HEADER_BYTES, OVERAGE, PREMIUM, RECORD, SUFFIX, folder_mark
from mapyard.accounts.models import Key, RequestError, UsageDay, UsageJournal, UsageLatency

_LOCK_FILE: Final = "enter.lock"
_UNBORN_S: Final = 60
#: The recent errors kept per account.
KEPT_ERRORS: Final = 200
#: Bucket b of the latency histogram holds what took less than 2**b / 8 ms; the last all above.
LATENCY_BUCKETS: Final = 21


def enter_journals(database: Database, folder: Path) -> int:
    """Enter what all journals of `folder` hold beyond what was entered; return the records.

    Journals whose worker has ended or moved on are deleted once they are entered whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # one at a time per machine
        entered = sum(_enter(database, path) for path in sorted(folder.glob(f"*{SUFFIX}")))
        _forget_deleted(database, folder)
        return entered
    finally:
        os.close(fd)


def _enter(database: Database, path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        # The worker holds the lock as long as it writes: who gets it has a finished journal.
        finished = _try_lock(fd)
        size = os.fstat(fd).st_size
        if size < HEADER_BYTES + RECORD.itemsize:
            # Its worker is just making it, or died doing so.
            if finished and time.time() - os.fstat(fd).st_mtime > _UNBORN_S:
                path.unlink()
            return 0
        count = int.from_bytes(os.pread(fd, 8, 0), "little")
        if not finished and _consumed(database, path.stem) == count:
            return 0  # nothing new: the write lock is left to others
        with database.write() as session:
            consumed = session.scalar(
                select(UsageJournal.consumed)
                .where(UsageJournal.journal == path.stem)
                .with_for_update()
            )
            start = consumed or 0
            raw = os.pread(
                fd, (count - start) * RECORD.itemsize, HEADER_BYTES + start * RECORD.itemsize
            )
            records = np.frombuffer(raw, RECORD)
            written = records["admitted_s"] != 0
            if not written.all():  # seen before the worker's memory reached ours: next time
                records = records[: int(np.argmin(written))]
            if len(records):
                _add(session, records)
                if consumed is None:
                    session.add(UsageJournal(journal=path.stem, consumed=len(records)))
                else:
                    session.execute(
                        update(UsageJournal)
                        .where(UsageJournal.journal == path.stem)
                        .values(consumed=start + len(records))
                    )
        if finished:
            path.unlink()
        return len(records)
    finally:
        os.close(fd)


def _consumed(database: Database, journal: str) -> int:
    with database.read() as session:
        query = select(UsageJournal.consumed).where(UsageJournal.journal == journal)
        return session.scalar(query) or 0


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _forget_deleted(database: Database, folder: Path) -> None:
    """Drop the rows of this machine's journals that are gone (never before the file is)."""
    pattern = f"{folder_mark(folder)}-%"
    with database.read() as session:
        known = session.scalars(
            select(UsageJournal.journal).where(UsageJournal.journal.like(pattern))
        ).all()
    gone = [name for name in known if not (folder / f"{name}{SUFFIX}").exists()]
    if gone:
        with database.write() as session:
            session.execute(delete(UsageJournal).where(UsageJournal.journal.in_(gone)))


def _add(session: Session, records: NDArray[Any]) -> None:
    days: Counter[tuple[Any, ...]] = Counter()
    units: Counter[tuple[Any, ...]] = Counter()
    overage: Counter[tuple[Any, ...]] = Counter()
    total_us: Counter[tuple[Any, ...]] = Counter()
    latency: Counter[tuple[Any, ...]] = Counter()
    last_used: dict[int, int] = {}
    errors: list[dict[str, Any]] = []
    buckets = latency_bucket(records["took_us"])
    for row, bucket in zip(records.tolist(), buckets.tolist(), strict=True):
        admitted_s, account, key, took_us, status, taken, flags, endpoint, code, request_id = row
        day = dt.datetime.fromtimestamp(admitted_s, dt.UTC).date()
        name = endpoint.decode()
        row_key = (account, day, key, name, status, bool(flags & PREMIUM))
        days[row_key] += 1
        units[row_key] += taken
        overage[row_key] += bool(flags & OVERAGE)
        total_us[row_key] += took_us
        latency[account, day, name, bucket] += 1
        last_used[key] = max(admitted_s, last_used.get(key, 0))
        if status >= 400:
            errors.append(
                {
                    "account_id": account,
                    "key_id": key,
                    "failed_at": admitted_s,
                    "endpoint": name,
                    "status": status,
                    "code": code.decode(errors="replace"),
                    "request_id": request_id.decode(errors="replace"),
                }
            )
    _upsert(
        session,
        UsageDay,
        ("account_id", "day", "key_id", "endpoint", "status", "premium"),
        [
            dict(
                zip(
                    ("account_id", "day", "key_id", "endpoint", "status", "premium"),
                    key,
                    strict=True,
                ),
                requests=count,
                units=units[key],
                overage=overage[key],
                total_us=total_us[key],
            )
            for key, count in days.items()
        ],
    )
    _upsert(
        session,
        UsageLatency,
        ("account_id", "day", "endpoint", "bucket"),
        [
            dict(zip(("account_id", "day", "endpoint", "bucket"), key, strict=True), requests=count)
            for key, count in latency.items()
        ],
    )
    for key_id, used_at in last_used.items():
        session.execute(
            update(Key)
            .where(Key.id == key_id, func.coalesce(Key.last_used_at, 0) < used_at)
            .values(last_used_at=used_at)
        )
    _keep_errors(session, errors)


def _keep_errors(session: Session, errors: list[dict[str, Any]]) -> None:
    by_account: dict[int, list[dict[str, Any]]] = {}
    for error in errors:
        by_account.setdefault(error["account_id"], []).append(error)
    for account_id, rows in by_account.items():
        session.execute(insert(RequestError), rows[-KEPT_ERRORS:])
        oldest_kept = session.scalar(
            select(RequestError.id)
            .where(RequestError.account_id == account_id)
            .order_by(RequestError.id.desc())
            .offset(KEPT_ERRORS - 1)
            .limit(1)
        )
        if oldest_kept is not None:
            session.execute(
                delete(RequestError).where(
                    RequestError.account_id == account_id, RequestError.id < oldest_kept
                )
            )


def _upsert(
    session: Session,
    model: type[UsageDay | UsageLatency],
    keys: tuple[str, ...],
    rows: list[dict[str, Any]],
) -> None:
    """Insert rows, or add their numbers to the rows that are there."""
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    statement = dialect.insert(model)
    sums = {
        name: getattr(model, name) + statement.excluded[name]
        for name in rows[0]
        if name not in keys
    }
    session.execute(statement.on_conflict_do_update(index_elements=keys, set_=sums), rows)


def latency_bucket(took_us: NDArray[Any]) -> NDArray[np.int64]:
    """Return the histogram bucket of each answer time in microseconds."""
    eighths_ms = np.maximum(took_us.astype(np.float64), 1.0) / 125.0
    buckets = np.floor(np.log2(eighths_ms)).astype(np.int64) + 1
    return np.clip(buckets, 0, LATENCY_BUCKETS - 1)
