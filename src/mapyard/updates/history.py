"""What updates did: DATA/updates/runs.json, for `mapyard status`, /metrics and the dashboard."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

_KEPT = 200


class Run(msgspec.Struct):
    """One update run; times are ISO 8601 UTC."""

    started: str
    seconds: float = 0.0
    outcome: str = "running"  # updated, current, failed, unreachable
    dataset: str = ""
    from_sequence: int | None = None
    to_sequence: int | None = None
    newest_sequence: int | None = None
    changed: int = 0
    deleted: int = 0
    touched: int = 0
    message: str = ""


def now_iso() -> str:
    """Return the present time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_runs(data: Path) -> list[Run]:
    """Return the runs, oldest first; none when there is no file or it is broken."""
    try:
        return msgspec.json.decode((data / "updates" / "runs.json").read_bytes(), type=list[Run])
    except (FileNotFoundError, msgspec.DecodeError):
        return []


def add_run(data: Path, run: Run) -> None:
    """Append a run and forget the oldest; atomic, called by the holder of the lock."""
    folder = data / "updates"
    folder.mkdir(parents=True, exist_ok=True)
    runs = [*read_runs(data), run][-_KEPT:]
    temporary = folder / f".runs-{os.getpid()}"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(runs), indent=1))
    temporary.replace(folder / "runs.json")
