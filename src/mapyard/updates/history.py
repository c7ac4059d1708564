"""What updates did, for `mapyard status`, /metrics and the dashboard.

DATA/updates/runs.json lists the runs; DATA/updates/logs has a file for each.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

_KEPT = 200
#: Of a log so much is shown; a run of all parts of a country writes some ten thousand bytes.
_SHOWN_BYTES = 200_000
_TRACEBACK = "Traceback (most recent call last):"


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

    @property
    def log_name(self) -> str:
        """The name of the log's file, without its ending."""
        return self.started.replace(":", "")


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
    kept = {log_path(data, known).name for known in runs}
    for path in log_path(data, run).parent.glob("*.log"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def log_path(data: Path, run: Run) -> Path:
    """Return where the log of a run is."""
    return data / "updates" / "logs" / f"{run.log_name}.log"


def read_log(data: Path, run: Run) -> str:
    """Return the last lines of a run's log, without what a program says of its own inside."""
    try:
        with log_path(data, run).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SHOWN_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    if size > _SHOWN_BYTES:
        text = "…\n" + text.partition("\n")[2]
    return text.partition(_TRACEBACK)[0].rstrip()
