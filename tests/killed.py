"""Kill a program in the middle of a build, however fast the machine is."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path


def kill_while_building(program: list[str], data: Path, after_s: float) -> bool:
    """Run python with these arguments; kill it `after_s` after it began a dataset in `data`.

    Returns False where it ended before.
    """
    before = set((data / "datasets").iterdir())
    process = subprocess.Popen(
        [sys.executable, *program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and set((data / "datasets").iterdir()) <= before:
        time.sleep(0.001)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL
