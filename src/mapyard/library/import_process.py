"""Imports of people's own files, each in a process of its own, which ends alone if it has to.

`run_import` starts the process and follows it; run as a module, this is the process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapyard.errors import MapyardError
from mapyard.userdata.importing import Imported, abandon, import_file
from mapyard.userdata.read.arrow import bind_gdal
from mapyard.userdata.rows import Geocode, ImportFailed, Options
from mapyard.userdata.write import Limits

#: Memory of an import, bytes: what it takes itself, and per row that the plan allows.
_OWN_BYTES: Final = 1 << 30
_ROW_BYTES: Final = 100
#: An import may take so long, seconds.
LIMIT_S: Final = 3_600.0
_SAY_S: Final = 0.5
_WATCH_S: Final = 1.0


class Task(msgspec.Struct):
    """What the process is told."""

    data: str
    source: str
    folder: str
    options: dict[str, Any]
    features: int
    storage_bytes: int


def run_import(
    task: Task,
    progress: Callable[[int], None] = lambda rows: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Imported:
    """Import a file in a process of its own; raise ImportFailed, also where it is stopped."""
    command = [sys.executable, "-m", "mapyard.library.import_process"]
    ended = threading.Event()
    why: list[Exception] = []
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(msgspec.json.encode(task).decode())
        process.stdin.close()
        last_s = time.monotonic() + LIMIT_S
        said: dict[str, Any] = {}

        def watch() -> None:  # a process that hangs says nothing
            while True:
                try:
                    if is_stopped():
                        raise ImportFailed("the import was stopped")
                    if time.monotonic() > last_s:
                        raise ImportFailed(f"the import took more than {LIMIT_S / 60:g} minutes")
                except Exception as error:
                    why.append(error)
                    process.kill()
                    return
                if ended.wait(_WATCH_S):
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            for line in process.stdout:
                said = json.loads(line)
                progress(said.get("rows", 0))
        finally:
            ended.set()
            watcher.join()
            process.kill()
    if "done" in said and not why:
        return msgspec.convert(said["done"], Imported)
    abandon(Path(task.folder))
    if why:
        raise why[0]
    if "failed" in said:
        raise ImportFailed(said["failed"])
    raise ImportFailed(
        "the import ended without a word: it took more memory than it may; split the file"
    )


def _make_geocode(data: Path) -> Geocode:
    """Return what finds addresses in the map of a data folder; it is opened at the first."""
    opened: list[Any] = []

    def geocode(texts: Sequence[str]) -> NDArray[np.float64]:
        if not opened:
            import mapyard

            opened.append(mapyard.open(data))
        found = np.full((len(texts), 2), np.nan)
        for place, text in enumerate(texts):
            best = opened[0].geocode(text, limit=1) if text.strip() else []
            if len(best):
                point = best[0].geometry
                found[place] = (point.x, point.y)
        return found

    return geocode


def main() -> None:
    """Read a task, do it, and say how far it is, a line of JSON at a time."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    limit = _OWN_BYTES + _ROW_BYTES * task.features
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    bind_gdal()
    last_s = 0.0

    def say(**said: Any) -> None:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()

    def progress(rows: int) -> None:
        nonlocal last_s
        if time.monotonic() - last_s > _SAY_S:
            last_s = time.monotonic()
            say(rows=rows)

    try:
        done = import_file(
            Path(task.source), Path(task.folder), Options(**task.options),
            Limits(task.features, task.storage_bytes), _make_geocode(Path(task.data)), progress,
        )  # fmt: skip
    except MapyardError as error:
        say(failed=error.message)
    except MemoryError:
        say(failed="the import took more memory than it may; split the file")
    except OSError as error:
        say(failed=f"the server cannot write the dataset: {error.strerror}")
    else:
        say(done=msgspec.to_builtins(done))


if __name__ == "__main__":
    main()
